"""Typed payloads: what a job works on, the job type it belongs to, and how it is stored and read."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields as dataclass_fields
from datetime import datetime
from typing import Any, ClassVar, NamedTuple, Self, TypedDict, Unpack
from uuid import UUID

from pydantic import BaseModel, ConfigDict, ValidationError

from domain.jobs.contract import OLDEST_VERSION, first_problem, readable
from domain.jobs.failures import Invalid
from domain.jobs.job import SYSTEM_ORG, JsonObject, KeysOf, NewJob, Origin
from domain.jobs.uniqueness import Unique
from domain.payloads.declaration import Declaration, KeptWords, Upcast
from domain.payloads.other_names import GivenWords, OtherNames, Renamed, other_names_of, rename
from domain.payloads.registry import Registry


class Payload(BaseModel):
    """What a job works on: ids and plain values, no secrets, no mail.

    A class that names a `job_type` is the payload of that type, and takes the facts of `Declaration` as keywords.
    A class that names none only shares its fields with others.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    declaration: ClassVar[Declaration]
    other_names: ClassVar[OtherNames]
    """Under which names callers may give a field besides its own."""

    def __init_subclass__(cls, **facts: Unpack["Facts"]) -> None:
        """Take the keywords; `__pydantic_init_subclass__` reads them, for the fields are not known yet."""
        super().__init_subclass__()

    @classmethod
    def __pydantic_init_subclass__(cls, **facts: Any) -> None:  # noqa: ANN401 - pydantic's signature
        """Check and register the class; raises `ValueError` or `TypeError` with the job type and the reason."""
        registry = facts.pop("registry", payload_types)
        hidden = sorted(set(cls.model_fields) & set(dir(Payload)))
        if hidden:
            raise ValueError(f"{cls.__name__}: a field may not be named {hidden[0]}, which every payload has")
        if "job_type" not in facts:
            if facts or hasattr(cls, "declaration"):
                raise ValueError(f"{cls.__name__} names no job_type")
            return
        known = [one.name for one in dataclass_fields(Declaration)]
        for keyword in facts:
            if keyword not in known:
                raise TypeError(
                    f"{cls.__name__}: {keyword} is no keyword of a payload class; known: {', '.join(known)}"
                )
        if not isinstance(facts["job_type"], str):
            raise TypeError(f"{cls.__name__}: job_type must be a str, not {facts['job_type']!r}")
        declaration = Declaration(**facts)
        declaration.check(cls.model_fields)
        try:
            cls.other_names = other_names_of(cls.model_fields)
        except ValueError as error:
            raise ValueError(f"{declaration.job_type}: {error}") from None
        registry.add(declaration.job_type, declaration.aliases, cls)
        cls.declaration = declaration

    @classmethod
    def read(cls, stored: JsonObject, stored_version: int) -> Self:
        """Upcast a stored payload step by step and validate it; raises `Invalid` with the field and the reason."""
        renamed = cls.renamed(cls.upcast(stored, stored_version))
        for one in renamed.unresolved:
            raise Invalid(f"payload.{one.other.name}", f"is looked up where a job is enqueued: give {one.field}")
        if renamed.words is not None:
            raise Invalid(f"payload.{renamed.words.field}", "is made of words where a job is enqueued: give the id")
        try:
            return cls.model_validate(renamed.payload)
        except ValidationError as error:
            raise first_problem(error, under="payload.") from None

    @classmethod
    def upcast(cls, document: JsonObject, version: int) -> JsonObject:
        """A document of a version in the shape of this class; raises `Invalid` with the field and the reason."""
        declared = cls.declaration
        if version > declared.version:
            raise Invalid("payload_version", f"{version} is newer than this worker knows ({declared.version})")
        if version < 1:
            raise Invalid("payload_version", "Input should be greater than or equal to 1")
        for step in range(version, declared.version):
            document = _upcast(declared.upcasts[step], document, step)
        return document

    @classmethod
    def renamed(cls, document: JsonObject) -> Renamed:
        """A document under the fields' own names; raises `Invalid` with the field and the reason.

        Where the class takes words and no id of theirs is given, the whole document is words.
        """
        words = cls.declaration.words
        if words is None or words.field in document:
            return rename(cls.other_names, document)
        try:
            said = words.model.model_validate_json(json.dumps(document), strict=True)
        except ValidationError as error:
            raise first_problem(error, under="payload.") from None
        return Renamed({}, words=GivenWords(words.field, said))

    @classmethod
    def accept(cls, document: JsonObject, version: int | None) -> "AcceptedPayload":
        """A payload from an entry point, as it is to be stored; raises `Invalid` with the field and the reason.

        Without a version it is of the oldest. A payload of this class's version is written as the class writes it. An
        older one must be readable, and stays as the caller wrote it; the ledger checks it by the shapes that workers
        published. The ledger also checks a newer one, which another worker may know. A payload with names that are to
        be looked up, or words that a row is to take in, is brought to this class's version and stays as it is until
        `storage.jobs.payload_names` has done so.
        """
        own, version = cls.declaration.version, OLDEST_VERSION if version is None else version
        if version > own:
            return AcceptedPayload(document, version, is_checked=False)
        current = cls.upcast(document, version)
        renamed = cls.renamed(current)
        try:
            read = cls.model_validate_json(json.dumps(renamed.stand_in), strict=True)
        except ValidationError as error:
            raise first_problem(error, under="payload.") from None
        if not renamed.is_whole:
            return AcceptedPayload(current, own, is_checked=False)
        if version < own:
            return AcceptedPayload(document, version, is_checked=False)
        return AcceptedPayload(read.document(), own, is_checked=True)

    @classmethod
    def template(cls, varying: str, fixed: Mapping[str, object]) -> JsonObject:
        """The stored payload without the UUID field `varying`, which SQL fills in row by row.

        Raises `ValueError` that names the class and the field when `fixed` and `varying` do not make a payload.
        """
        if varying not in cls.model_fields or varying in fixed:
            raise ValueError(f"{cls.__name__}: {varying} must be a field that is not among the fixed ones")
        try:
            document = cls.model_validate({**fixed, varying: SYSTEM_ORG}).document()
        except ValidationError as error:
            raise ValueError(f"{cls.__name__}: {first_problem(error).reason}") from None
        del document[varying]
        return document

    def document(self) -> JsonObject:
        """The payload as it is stored."""
        return self.model_dump(mode="json")

    def job(  # noqa: PLR0913 - the fields of the job contract, by keyword
        self,
        *,
        org_id: UUID,
        origin: Origin | None = None,
        run_at: datetime | None = None,
        priority: int = 0,
        max_attempts: int | None = None,
        retry_base_s: int | None = None,
        retry_cap_s: int | None = None,
        idempotency_key: str | None = None,
        keys_of: KeysOf | None = None,
        expires_at: datetime | None = None,
        project_id: UUID | None = None,
    ) -> NewJob:
        """A job of this payload's type, to be enqueued or returned as a child (which inherits org and origin)."""
        declared = self.declaration
        return NewJob(
            job_type=declared.job_type,
            org_id=org_id,
            payload=self.document(),
            payload_version=declared.version,
            project_id=project_id,
            origin=origin or Origin(),
            idempotency_key=idempotency_key,
            keys_of=keys_of,
            run_at=run_at,
            expires_at=expires_at,
            priority=priority,
            max_attempts=max_attempts,
            retry_base_s=retry_base_s,
            retry_cap_s=retry_cap_s,
            is_checked=True,
        )


class AcceptedPayload(NamedTuple):
    """A payload from an entry point, and what is known of it."""

    payload: JsonObject
    version: int
    is_checked: bool


def _upcast(upcast: Upcast, document: JsonObject, version: int) -> JsonObject:
    """The next version of a stored payload; raises `Invalid` when its shape is none that the function expects."""
    try:
        return upcast(document)
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise Invalid("payload", f"is none of version {version}: {type(error).__name__}") from error


class JobOptions(TypedDict, total=False):
    """What a caller may add to a job of its own org."""

    run_at: datetime | None
    priority: int
    max_attempts: int | None
    retry_base_s: int | None
    retry_cap_s: int | None
    idempotency_key: str | None
    keys_of: KeysOf | None
    project_id: UUID | None


def jobs_of(
    payloads: Sequence[Payload], *, org_id: UUID, origin: Origin | None = None, **options: Unpack[JobOptions]
) -> list[NewJob]:
    """A job per payload; raises `ValueError` for several payloads with one idempotency key, which names one job."""
    if options.get("idempotency_key") is not None and len(payloads) > 1:
        raise ValueError(f"one idempotency_key cannot name {len(payloads)} jobs")
    return [payload.job(org_id=org_id, origin=origin, **options) for payload in payloads]


class Facts(TypedDict, total=False):
    """The keywords of a payload class: the fields of `Declaration`, and the registry, for tests of their own."""

    job_type: str
    aliases: tuple[str, ...]
    version: int
    upcasts: Mapping[int, Upcast]
    unique: Unique
    serial_by: str
    serial_limit: int
    words: KeptWords
    registry: "Registry[type[Payload]]"


payload_types: Registry[type[Payload]] = Registry()
"""The payload classes of this process, by the name and the aliases of their job types."""


def checked(job: NewJob) -> NewJob:
    """The job with its payload as its class writes it; raises `Invalid` with the field and the reason.

    A job without a class here stays as it is: the ledger knows the shapes of other workers' classes.
    """
    payload_type = None if job.is_checked else payload_types.find(job.job_type)
    if payload_type is None:
        return job
    if not isinstance(job.payload, dict):
        raise Invalid("payload", "Input should be a valid dictionary")
    try:
        readable(job.payload)
    except (TypeError, ValueError) as error:
        raise Invalid("payload", str(error)) from None
    accepted = payload_type.accept(job.payload, job.payload_version)
    return job._replace(payload=accepted.payload, payload_version=accepted.version, is_checked=accepted.is_checked)
