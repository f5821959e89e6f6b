"""The job contract: what any service must say when it hands over a job (docs: seeds.md#004-46)."""

import json
from collections.abc import Collection
from datetime import datetime
from typing import Annotated, Any, Self
from uuid import UUID

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from domain.clean_text import UNSTORABLE, clean_text
from domain.instants import read_instant
from domain.jobs.failures import Invalid
from domain.jobs.job import ActorType, JsonObject, KeysOf, NewJob, Origin
from domain.jobs.nesting import MOST_LEVELS, nests_too_deep

JOB_TYPE_PATTERN = r"[A-Za-z_]+(\.[A-Za-z_]+){0,3}"
"""A name or an alias of a job type: up to four words with dots between them."""
LONGEST_JOB_TYPE = 100

LARGEST_PAYLOAD = 262144
"""Bytes as JSON: ids and plain values, no mail and no files."""

OLDEST_VERSION = 1
"""Of a payload that names no version, whoever sends the payload: its caller wrote it before there was another version.
So a new version never changes what such a caller means (docs: seeds.md#004-59)."""

MOST_ATTEMPTS = 100
"""As the table of jobs bounds it: who wants more wants another job."""

LONGEST_REASON = 1_000
"""Characters of why something was done to a job, an action, a dead letter or a gate."""
LONGEST_RETRY_S = 86_400
"""A day between two attempts; who wants to wait for longer enqueues another job."""

WORDS = {
    "uuid_": "Input should be a valid UUID",
    "int_": "Input should be a valid integer",
    "date_": "Input should be a valid date",
    "datetime_": "Input should be a valid datetime",
}
"""What is said of all errors whose kind begins so."""

Text = Field(min_length=1, max_length=200)

Instant = Annotated[datetime, BeforeValidator(read_instant)]
"""A field of a contract or a payload: RFC 3339 with an offset, kept in UTC."""

OTHER_NAMES = (
    *(("tenantId", "org_id"), ("jobType", "job_type"), ("input", "payload")),
    *(("run_at", "scheduled_for"), ("scheduled_for", "run_at")),
)
"""Names of source documents for fields (docs: seeds.md#002-40): the same for whoever hands over a job, in any way."""
RETRIES = ("maxRetries", "max_retries")
"""How often a job is tried again, in the words of that document: three retries are four attempts."""

OF_FIELD = "of_field"
"""The kind of an error that names its field itself."""


def readable(payload: JsonObject) -> JsonObject:
    """The payload, unless it is too large, or too deep to be read again; raises `ValueError` as pydantic wants it."""
    if nests_too_deep(payload):
        raise ValueError(f"nests more than {MOST_LEVELS} levels deep")
    if len(json.dumps(payload, ensure_ascii=False).encode("utf-8", "surrogatepass")) > LARGEST_PAYLOAD:
        raise ValueError(f"has more than {LARGEST_PAYLOAD} bytes")
    return payload


def storable(text: str) -> str:
    """The text, unless PostgreSQL cannot store it; raises `ValueError` as pydantic wants it."""
    if clean_text(text) != text:
        raise ValueError(UNSTORABLE)
    return text


class AskedJob(BaseModel):
    """What whoever hands over a job says of it; unknown fields are refused, so that a typing error is not lost."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    job_type: str = Field(pattern=f"^{JOB_TYPE_PATTERN}$", max_length=LONGEST_JOB_TYPE)
    payload: Annotated[dict[str, Any], AfterValidator(readable)]
    payload_version: int | None = Field(None, ge=1, le=1000)
    project_id: UUID | None = None
    expires_at: Instant | None = None
    priority: int | None = Field(None, ge=-100, le=100)
    max_attempts: int | None = Field(None, ge=1, le=MOST_ATTEMPTS)
    retry_base_s: int | None = Field(None, ge=1, le=LONGEST_RETRY_S)
    retry_cap_s: int | None = Field(None, ge=1, le=LONGEST_RETRY_S)

    @classmethod
    def parse(cls, document: object) -> Self:
        """Read a document; raises `Invalid` with the first offending field and the reason."""
        try:
            return cls.model_validate(own_names(document, cls.model_fields))
        except ValidationError as error:
            raise first_problem(error) from None

    def job_for(self, org_id: UUID, origin: Origin) -> NewJob:
        """The job as the ledger takes it, for a client."""
        return NewJob(
            job_type=self.job_type,
            org_id=org_id,
            payload=self.payload,
            payload_version=self.payload_version,
            project_id=self.project_id,
            origin=origin,
            expires_at=self.expires_at,
            priority=self.priority or 0,
            max_attempts=self.max_attempts,
            retry_base_s=self.retry_base_s,
            retry_cap_s=self.retry_cap_s,
            keys_of=KeysOf.CLIENT,
        )


class JobContract(AskedJob):
    """One job as a foreign service sends it."""

    job_id: UUID
    org_id: UUID
    actor_type: ActorType
    actor_id: str = Text
    request_id: str = Text
    correlation_id: str = Text
    idempotency_key: str = Field(min_length=1, max_length=400)
    created_at: Instant
    scheduled_for: Instant | None = None
    traceparent: str | None = Field(None, max_length=200)

    def new_job(self) -> NewJob:
        """The contract as the ledger takes it."""
        origin = Origin(self.actor_type, self.actor_id, self.request_id, self.correlation_id, self.traceparent)
        return self.job_for(self.org_id, origin)._replace(
            job_id=self.job_id,
            idempotency_key=self.idempotency_key,
            run_at=self.scheduled_for,
            created_at=self.created_at,
        )


def own_names(document: object, fields: Collection[str]) -> object:
    """A contract under its fields' own names; raises `Invalid` for two names of a field that say different things."""
    if not isinstance(document, dict):
        return document
    known = {other: field for other, field in OTHER_NAMES if field in fields}
    others = [(name, known[name], document[name]) for name in known if name in document]
    others += [(name, "max_attempts", _attempts(name, document[name])) for name in RETRIES if name in document]
    if not others:
        return document
    renamed = {name: value for name, value in document.items() if name not in {one[0] for one in others}}
    for name, field, value in others:
        if renamed.get(field, value) != value:
            raise Invalid(name, f"is another name of {field}, which says something else")
        renamed[field] = value
    return renamed


def _attempts(name: str, retries: object) -> int:
    if type(retries) is not int or not 0 <= retries < MOST_ATTEMPTS:
        raise Invalid(name, f"must be a whole number from 0 to {MOST_ATTEMPTS - 1}")
    return retries + 1


def first_problem(error: ValidationError, under: str = "") -> Invalid:
    """The first problem of a validation, as field and reason; never the offending value, which may be a secret."""
    problem = error.errors(include_url=False, include_input=False)[0]
    if problem["type"] == OF_FIELD:
        return Invalid(f"{under}{_whole_path(problem['loc'], problem['ctx']['field'])}", problem["msg"])
    if problem["type"] == "json_invalid":
        # It was JSON: what its reader refuses is half of a surrogate pair.
        return Invalid("text", UNSTORABLE)
    path = ".".join(str(part) for part in problem["loc"]) or "document"
    return Invalid(f"{under}{path}", reason_of(problem))


def reason_of(problem: ErrorDetails) -> str:
    """What is wrong, in the words of the contracts."""
    kind = next((kind for kind in WORDS if problem["type"].startswith(kind)), None)
    return WORDS[kind] if kind else problem["msg"].removeprefix("Value error, ")


def _whole_path(place: tuple[int | str, ...], field: str) -> str:
    """A field that `misfit` names, below the model inside the document that it is a field of."""
    if not place or field.partition(".")[0] == place[0]:
        return field
    return ".".join([*map(str, place), field])


def misfit(field: str, reason: str) -> PydanticCustomError:
    """What a check of a whole model raises, so that `first_problem` can name the field; without it none is known."""
    return PydanticCustomError(OF_FIELD, "{reason}", {"field": field, "reason": reason})


def parse_time(text: str, field: str) -> datetime:
    """Read an RFC 3339 time with its offset, in UTC; raises `Invalid`."""
    try:
        return read_instant(text)
    except ValueError as error:
        raise Invalid(field, str(error)) from None


def check_text(field: str, text: str, most: int = LONGEST_REASON) -> str:
    """A short text that a person gives, as a reason or a name; raises `Invalid` in the words of the contracts."""
    if not text.strip():
        raise Invalid(field, "String should have at least 1 character")
    if len(text) > most:
        raise Invalid(field, f"String should have at most {most} characters")
    return text
