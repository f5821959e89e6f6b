"""A job as an HTTP client asks for it: the job contract without what the gateway knows by itself."""

import hashlib
import json
from typing import Annotated, Any, Self
from uuid import UUID

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from domain.jobs.contract import (
    JOB_TYPE_PATTERN,
    LONGEST_JOB_TYPE,
    LONGEST_RETRY_S,
    MOST_ATTEMPTS,
    Instant,
    first_problem,
    own_names,
    readable,
)
from domain.jobs.failures import Invalid
from domain.jobs.job import JsonObject, KeysOf, NewJob, Origin

KEY_FIELD = "idempotency_key"


class JobRequest(BaseModel):
    """One job that is to be enqueued; org, actor, request and trace come from the key and the headers."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    job_type: str = Field(pattern=f"^{JOB_TYPE_PATTERN}$", max_length=LONGEST_JOB_TYPE)
    payload: Annotated[dict[str, Any], AfterValidator(readable)]
    payload_version: int | None = Field(None, ge=1, le=1000)
    project_id: UUID | None = None
    run_at: Instant | None = None
    expires_at: Instant | None = None
    priority: int = Field(0, ge=-100, le=100)
    max_attempts: int | None = Field(None, ge=1, le=MOST_ATTEMPTS)
    retry_base_s: int | None = Field(None, ge=1, le=LONGEST_RETRY_S)
    retry_cap_s: int | None = Field(None, ge=1, le=LONGEST_RETRY_S)
    idempotency_key: str | None = Field(None, min_length=1, max_length=400)

    @classmethod
    def parse(cls, document: object, header_key: str | None = None) -> Self:
        """Read a request; raises `Invalid` with the first offending field and the reason.

        The key may be in the header `Idempotency-Key`, in the document, or in both when they are equal.
        """
        if not isinstance(document, dict):
            raise Invalid("document", "is no JSON object")
        if header_key is not None:
            if document.get(KEY_FIELD, header_key) != header_key:
                raise Invalid(KEY_FIELD, "differs from the header Idempotency-Key")
            document = {**document, KEY_FIELD: header_key}
        try:
            return cls.model_validate(own_names(document, cls.model_fields))
        except ValidationError as error:
            raise first_problem(error) from None

    def new_job(self, org_id: UUID, origin: Origin, *, is_checked: bool) -> NewJob:
        """The request as the ledger takes it; `is_checked` says whether its payload stands as its class writes it."""
        return NewJob(
            job_type=self.job_type,
            org_id=org_id,
            payload=self.payload,
            payload_version=self.payload_version,
            project_id=self.project_id,
            origin=origin,
            idempotency_key=self.idempotency_key,
            run_at=self.run_at,
            expires_at=self.expires_at,
            priority=self.priority,
            max_attempts=self.max_attempts,
            retry_base_s=self.retry_base_s,
            retry_cap_s=self.retry_cap_s,
            keys_of=KeysOf.CLIENT,
            is_checked=is_checked,
        )


def fingerprint(document: JsonObject) -> bytes:
    """What two requests with one idempotency key must have in common: everything that they ask for, but the key.

    Order and white space do not count. Of the document as it came, so that a later release with other defaults still
    knows the request again.
    """
    asked = {name: value for name, value in document.items() if name != KEY_FIELD}
    return hashlib.sha256(json.dumps(asked, sort_keys=True, separators=(",", ":")).encode()).digest()
