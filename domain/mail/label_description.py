"""What an owner says of a label: what belongs under it, and whether the model may use it."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from domain.jobs.failures import Invalid
from domain.mail.invalid_fields import invalid_from


class LabelDescription(BaseModel):
    """The fields to change; those that are left out stay as they are."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    description: Annotated[
        str | None,
        StringConstraints(max_length=200, pattern=r"^[^\x00-\x09\x0b-\x1f\x7f]*$"),
        Field(description="What belongs under the label. The model is shown 200 characters; empty: nothing."),
    ] = None
    for_classifier: Annotated[bool | None, Field(description="Whether the model may put mail under the label.")] = None


def parse_description(data: object) -> LabelDescription:
    """A description from JSON-like data; raises `Invalid(field, reason)`."""
    try:
        change = LabelDescription.model_validate(data)
    except ValidationError as error:
        raise invalid_from(error, "document") from error
    if change.description is None and change.for_classifier is None:
        raise Invalid("description", "nothing to change is given: a description, for_classifier, or both")
    return change
