"""What an artifact is: a named file of an org whose bytes never change, kept until a time."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import AfterValidator, BaseModel, ConfigDict, StringConstraints, ValidationError

from domain.jobs.contract import first_problem, storable
from domain.jobs.failures import Invalid
from domain.payloads.mail_fields import ContentType, FileName

UPLOAD = "upload"
"""The kind of what a service has stored; each kind of a job's is a word of its own."""
ANY_BYTES = "application/octet-stream"

KEEP_FOR = timedelta(days=30)
"""For how long an artifact is kept where nobody says otherwise: a month's plan is still there at the month's end."""
MOST_KEPT_FOR = timedelta(days=3660)
REMEMBER_FOR = timedelta(days=30)
"""How long a row outlives its bytes, so that its people read that it was deleted, and not that it never was."""
ORPHANED_AFTER = timedelta(days=1)
"""Bytes without a row are removed when they are so old: a job, whose end writes the row, may take half an hour, and a
store's clock may differ."""
REFUSED_FOR = timedelta(hours=1)
"""How long bytes wait that the store has refused to remove, so that all others go before them."""

_GZIP = b"\x1f\x8b"


class ArtifactState(StrEnum):
    """Whether an artifact can be read. There is no state before: a row is written when all bytes lie there."""

    READY = "ready"
    DELETED = "deleted"
    """By a person, or because its time was over. Its bytes go soon after."""


class ArtifactFacts(BaseModel):
    """What an artifact is called."""

    model_config = ConfigDict(frozen=True)

    kind: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,39}$")] = UPLOAD
    name: Annotated[FileName, AfterValidator(storable)]
    media_type: ContentType = ANY_BYTES


STORE = "artifacts"
"""The provider whose gate keeps back the jobs that would write to a store that takes nothing."""


@dataclass(frozen=True, slots=True)
class NewArtifact:
    """An artifact whose bytes lie in the store."""

    artifact_id: UUID
    facts: ArtifactFacts
    size: int
    sha256: str
    """As hexadecimal digits."""
    keep_for: timedelta = KEEP_FOR
    project_id: UUID | None = None
    job_id: UUID | None = None


def checked_facts(kind: str, name: str, media_type: str) -> ArtifactFacts:
    """The facts; raises `Invalid` with the field and the reason."""
    try:
        return ArtifactFacts(kind=kind, name=name, media_type=media_type)
    except ValidationError as error:
        raise first_problem(error) from None


def place_of(org_id: UUID, artifact_id: UUID) -> str:
    """Where its bytes lie in the store."""
    return f"{org_id}/{artifact_id}"


def artifact_at(place: str) -> UUID | None:
    """The artifact whose bytes, or the beginning of which, would lie there; None for a place that is none of ours."""
    whole, _, part = place.partition("#")
    org, _, name = whole.partition("/")
    try:
        UUID(org)
        found = UUID(name)
    except ValueError:
        return None
    is_ours = whole == place_of(UUID(org), found) and (whole == place or part.isdecimal())
    return found if is_ours else None


def orphans_of(places: Iterable[str], kept: Iterable[UUID]) -> tuple[str, ...]:
    """The places whose artifact has no row; what is none of ours is left where it lies."""
    rows = set(kept)
    found = ((place, artifact_at(place)) for place in places)
    return tuple(place for place, artifact_id in found if artifact_id is not None and artifact_id not in rows)


def check_unpacked(head: bytes) -> None:
    """Refuse a packed file by its first bytes (RFC 1952, 2.3.1): nothing here unpacks, so nobody could read it."""
    if head.startswith(_GZIP):
        raise Invalid("body", "is packed by gzip: store the file itself, nothing here unpacks one")
