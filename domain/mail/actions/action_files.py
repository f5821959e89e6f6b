"""Files that go with a mail of an action: each is an artifact, or its content was given with the action, and is kept.

The action's parameters name each file by name, type, size and digest. So whoever approves the action sees which files
leave, and an order to send can be compared with what was approved.
"""

import base64
import hashlib
from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from domain.jobs.contract import first_problem
from domain.jobs.failures import Invalid
from domain.payloads.mail_fields import LARGEST_FILES, MOST_FILES, ContentType, FileName, Sha256
from domain.payloads.outbound import AttachmentField, is_none

FIELD = "attachments"


class AttachmentFacts(BaseModel):
    """A file as an action names it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    filename: FileName
    content_type: ContentType
    size: Annotated[int, Field(ge=0, le=LARGEST_FILES)]
    """Bytes."""
    sha256: Sha256
    artifact_id: UUID | None = Field(None, exclude_if=is_none)
    """The artifact that holds it; without one, its content stands beside the action."""

    @property
    def told(self) -> tuple[str, str, int, str]:
        """What was approved: the file, wherever it lies."""
        return self.filename, self.content_type, self.size, self.sha256


class AskedArtifact(BaseModel):
    """A file as a request names it that lies in an artifact; its name and type are the artifact's unless it says."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    artifact_id: UUID
    filename: FileName | None = None
    content_type: ContentType | None = None

    def attached(self, name: str, media_type: str, size: int, sha256: str) -> AttachmentField:
        """The file with the facts of its artifact; raises `Invalid` for one that no mail takes."""
        if not 0 < size <= LARGEST_FILES:
            raise Invalid("artifact_id", f"has {size} bytes; the files of a mail have at most {LARGEST_FILES}")
        return AttachmentField(
            filename=self.filename or name,
            content_type=self.content_type or media_type,
            artifact_id=self.artifact_id,
            size=size,
            sha256=sha256,
        )


def _fit_together(files: tuple[AttachmentFacts, ...]) -> tuple[AttachmentFacts, ...]:
    size = sum(one.size for one in files)
    if size > LARGEST_FILES:
        raise ValueError(f"have {size} bytes together; a mail has at most {LARGEST_FILES}")
    return files


Attachments = Annotated[
    tuple[AttachmentFacts, ...], Field(min_length=1, max_length=MOST_FILES), AfterValidator(_fit_together)
]
AskedFile = AttachmentField | AskedArtifact

_FILE, _ARTIFACT = TypeAdapter(AttachmentField), TypeAdapter(AskedArtifact)


def read_files(document: object) -> tuple[AskedFile, ...]:
    """The files of a request, each with its content or its artifact; raises `Invalid(field, reason)`."""
    if not isinstance(document, list):
        raise Invalid(FIELD, "is a list of files")
    if len(document) > MOST_FILES:
        raise Invalid(FIELD, f"are more than {MOST_FILES}")
    return tuple(_read_file(one, f"{FIELD}.{place}.") for place, one in enumerate(document))


def _read_file(document: object, under: str) -> AskedFile:
    is_artifact = isinstance(document, dict) and "artifact_id" in document
    try:
        if is_artifact:
            return _ARTIFACT.validate_python(document)
        return _FILE.validate_python(document)
    except ValidationError as error:
        raise first_problem(error, under) from error


def named(file: AttachmentField) -> AttachmentFacts:
    """How an action names a file."""
    data = None if file.data is None else base64.b64decode(file.data)
    return AttachmentFacts(
        filename=file.filename,
        content_type=file.content_type,
        size=(file.size or 0) if data is None else len(data),
        sha256=(file.sha256 or "") if data is None else hashlib.sha256(data).hexdigest(),
        artifact_id=file.artifact_id,
    )


def base64_size(size: int) -> int:
    """How many bytes of base64 a file of so many bytes takes."""
    return (size + 2) // 3 * 4


def check_files(given: Sequence[AttachmentField], approved: Sequence[AttachmentFacts]) -> None:
    """Refuse an order to send whose files are not exactly the action's; raises `Invalid` with the field."""
    missing = [one.told for one in approved]
    for place, one in enumerate(given):
        file = named(one).told
        if file not in missing:
            raise Invalid(f"payload.{FIELD}.{place}", "is no file of the action, by name, type and content")
        missing.remove(file)
    if missing:
        names = ", ".join(name for name, *_ in missing)
        raise Invalid(f"payload.{FIELD}", f"lack files of the action: {names}")
