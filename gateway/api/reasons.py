"""Bodies of requests, read as the API's classes; those to cancel and to retry are optional: why, and how far."""

from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from domain.jobs.contract import first_problem
from domain.jobs.failures import Invalid

R = TypeVar("R", bound=BaseModel)


class Reason(BaseModel):
    """Why somebody cancels or retries a job; it is kept with the job and in the audit log."""

    model_config = ConfigDict(extra="forbid", strict=True)

    reason: str | None = Field(None, min_length=1, max_length=1000)


class Cancellation(Reason):
    """Why somebody cancels a job, and whether what it enqueued is canceled with it."""

    children: bool = Field(default=True, description="Also cancel the unfinished jobs that descend from it.")


def read_body(kind: type[R], document: object) -> R:
    """What a body says; without a body, the defaults. Raises `Invalid` with the field and the reason."""
    if document is not None and not isinstance(document, dict):
        raise Invalid("document", "is no JSON object")
    try:
        return kind.model_validate(document or {})
    except ValidationError as error:
        raise first_problem(error) from None
