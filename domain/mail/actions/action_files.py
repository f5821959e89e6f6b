"""Files that go with a mail of an action: their content is given when the action is asked for, and stored beside it.

The action's parameters name each file by name, type, size and digest. So whoever approves the action sees which files
leave, and an order to send can be compared with what was approved.
"""

import base64
import hashlib
from collections.abc import Sequence
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError

from domain.jobs.failures import Invalid
from domain.mail.invalid_fields import invalid_from
from domain.payloads.mail_fields import LARGEST_ATTACHMENT, ContentType, FileName
from domain.payloads.outbound import MOST_ATTACHMENTS, AttachmentField

FIELD = "attachments"


class AttachmentFacts(BaseModel):
    """A file as an action names it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    filename: FileName
    content_type: ContentType
    size: Annotated[int, Field(ge=0, le=LARGEST_ATTACHMENT)]
    """Bytes."""
    sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


def _fit_together(files: tuple[AttachmentFacts, ...]) -> tuple[AttachmentFacts, ...]:
    size = sum(one.size for one in files)
    if size > LARGEST_ATTACHMENT:
        raise ValueError(f"have {size} bytes together; an action has at most {LARGEST_ATTACHMENT}")
    return files


Attachments = Annotated[
    tuple[AttachmentFacts, ...], Field(min_length=1, max_length=MOST_ATTACHMENTS), AfterValidator(_fit_together)
]

_GIVEN: TypeAdapter[tuple[AttachmentField, ...]] = TypeAdapter(
    Annotated[tuple[AttachmentField, ...], Field(max_length=MOST_ATTACHMENTS)]
)


def read_files(document: object) -> tuple[AttachmentField, ...]:
    """The files of a request, each with its content; raises `Invalid(field, reason)`."""
    if not isinstance(document, list):
        raise Invalid(FIELD, "is a list of files")
    try:
        return _GIVEN.validate_python(tuple(document))
    except ValidationError as error:
        refusal = invalid_from(error, "")
        field = f"{FIELD}.{refusal.field}" if refusal.field else FIELD
        raise Invalid(field, refusal.reason.partition(": ")[2]) from error


def named(file: AttachmentField) -> AttachmentFacts:
    """How an action names a file."""
    data = base64.b64decode(file.data)
    return AttachmentFacts(
        filename=file.filename,
        content_type=file.content_type,
        size=len(data),
        sha256=hashlib.sha256(data).hexdigest(),
    )


def base64_size(size: int) -> int:
    """How many bytes of base64 a file of so many bytes takes."""
    return (size + 2) // 3 * 4


def check_files(given: Sequence[AttachmentField], approved: Sequence[AttachmentFacts]) -> None:
    """Refuse an order to send whose files are not exactly the action's; raises `Invalid` with the field."""
    missing = list(approved)
    for place, one in enumerate(given):
        file = named(one)
        if file not in missing:
            raise Invalid(f"payload.{FIELD}.{place}", "is no file of the action, by name, type and content")
        missing.remove(file)
    if missing:
        names = ", ".join(one.filename for one in missing)
        raise Invalid(f"payload.{FIELD}", f"lack files of the action: {names}")
