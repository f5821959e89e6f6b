"""Bodies of requests, read as the API's classes."""

from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from domain.jobs.contract import first_problem
from domain.jobs.failures import Invalid

R = TypeVar("R", bound=BaseModel)


class Reason(BaseModel):
    """Why somebody does something; it is kept in the audit log."""

    model_config = ConfigDict(extra="forbid", strict=True)

    reason: str | None = Field(None, min_length=1, max_length=1000)


def read_body(kind: type[R], document: object) -> R:
    """What a body says; without a body, the defaults. Raises `Invalid` with the field and the reason."""
    if document is not None and not isinstance(document, dict):
        raise Invalid("document", "is no JSON object")
    try:
        return kind.model_validate(document or {})
    except ValidationError as error:
        raise first_problem(error) from None
