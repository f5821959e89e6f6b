"""The optional body of a request to cancel or to retry: why."""

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from domain.jobs.contract import first_problem
from domain.jobs.failures import Invalid


class Reason(BaseModel):
    """Why somebody cancels or retries a job; it is kept with the job and in the audit log."""

    model_config = ConfigDict(extra="forbid")

    reason: str | None = Field(None, min_length=1, max_length=1000)


def reason_of(document: object) -> str | None:
    """The reason in a body, None without one; raises `Invalid` with the field and the reason."""
    if document is None:
        return None
    if not isinstance(document, dict):
        raise Invalid("document", "is no JSON object")
    try:
        return Reason.model_validate(document).reason
    except ValidationError as error:
        raise first_problem(error) from None
