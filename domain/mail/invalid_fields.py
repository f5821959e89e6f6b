"""Pydantic's refusal as our own: the field and the reason, and never the value that was refused."""

from pydantic import ValidationError

from domain.jobs.failures import Invalid


def invalid_from(error: ValidationError, fallback: str) -> Invalid:
    """The first complaint of a validation; `fallback` names the field when the whole value was wrong."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    field = ".".join(str(part) for part in first["loc"])[:200] or fallback
    return Invalid(field, str(first["msg"]).removeprefix("Value error, ")[:300])
