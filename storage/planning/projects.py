"""Projects, and what stands in them whatever is planned: places, people, their skills and times."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from psycopg.types.json import Jsonb

from domain.jobs.failures import Conflict, Invalid
from domain.planning.files.imports import BY_HAND
from domain.planning.model import AvailabilityKind, Span
from storage.postgres.database import Transaction
from storage.postgres.execution import Row

MOST_PLACES = 1_000
MOST_COLLABORATORS = 1_000
MOST_AVAILABILITIES = 10_000
"""Of one person: as many as an import takes from a calendar."""


class ProjectRef(NamedTuple):
    """A project of an org."""

    org_id: UUID
    project_id: UUID


@dataclass(frozen=True, slots=True)
class Project:
    """What is planned together."""

    project_id: UUID
    org_id: UUID
    name: str
    zone: str
    speed_kmh: int
    created_at: datetime

    @property
    def ref(self) -> ProjectRef:
        """Where its rows are."""
        return ProjectRef(self.org_id, self.project_id)


def add_project(tx: Transaction, org_id: UUID, name: str, zone: str, speed_kmh: int) -> Project:
    """Begin a project."""
    (row,) = tx.run("add_project", org_id=org_id, name=name, zone=zone, speed_kmh=speed_kmh)
    return Project(*row)


def change_project(tx: Transaction, ref: ProjectRef, **changes: object) -> Project:
    """Set name, zone and speed; None leaves what there is. Raises `Gone`."""
    return Project(*tx.one("change_project", "there is no such project", **ref._asdict(), **changes))


def project(tx: Transaction, ref: ProjectRef) -> Project:
    """A project of the org; raises `Gone`."""
    return Project(*tx.one("find_project", "there is no such project", **ref._asdict()))


def add_place(tx: Transaction, ref: ProjectRef, **facts: object) -> Row:
    """Add a place; raises `Conflict` when the project has too many, and `Invalid` for minutes to no place of it."""
    rows = tx.run("add_place", **ref._asdict(), **_place_facts(tx, ref, facts), most=MOST_PLACES)
    if not rows:
        raise Conflict(f"name: the project has {MOST_PLACES} places already")
    return rows[0]


def change_place(tx: Transaction, ref: ProjectRef, place_id: UUID, **facts: object) -> Row:
    """Set what of a place is not None; raises `Gone`, and `Invalid` for minutes to no place of the project."""
    return tx.one(
        "change_place", "there is no such place", **ref._asdict(), place_id=place_id, **_place_facts(tx, ref, facts)
    )


def places(tx: Transaction, ref: ProjectRef) -> Sequence[Row]:
    """All places of a project, the oldest first."""
    return tx.run("list_places", **ref._asdict(), after_place_id=None, limit=MOST_PLACES)


def require_places(tx: Transaction, ref: ProjectRef, field: str, place_ids: Sequence[UUID]) -> None:
    """Raise `Invalid` with the field unless all are places of the project."""
    known = {row.id for row in tx.run("known_places", **ref._asdict(), place_ids=list(place_ids))}
    unknown = [one for one in place_ids if one not in known]
    if unknown:
        raise Invalid(field, f"{unknown[0]} is no place of the project")


def add_collaborator(tx: Transaction, ref: ProjectRef, skills: Sequence[str], **facts: object) -> Row:
    """Add a person; raises `Conflict` where the user is one already, or there are too many, and `Invalid`."""
    _check_collaborator(tx, ref, facts)
    rows = tx.run("add_collaborator", **ref._asdict(), **facts, most=MOST_COLLABORATORS)
    if not rows:
        raise Conflict(f"user_id: is a collaborator of the project, or it has {MOST_COLLABORATORS} already")
    tx.run("set_skills", **ref._asdict(), collaborator_id=rows[0].id, skills=list(skills))
    return collaborator(tx, ref, rows[0].id)


def change_collaborator(
    tx: Transaction, ref: ProjectRef, collaborator_id: UUID, skills: Sequence[str] | None, **facts: object
) -> Row:
    """Set what of a person is not None; raises `Gone`, `Conflict` for a user who is another one, and `Invalid`."""
    _check_collaborator(tx, ref, facts)
    collaborator(tx, ref, collaborator_id)
    if not tx.run("change_collaborator", **ref._asdict(), collaborator_id=collaborator_id, **facts):
        raise Conflict("user_id: is another collaborator of the project")
    if skills is not None:
        tx.run("set_skills", **ref._asdict(), collaborator_id=collaborator_id, skills=list(skills))
    return collaborator(tx, ref, collaborator_id)


def collaborator(tx: Transaction, ref: ProjectRef, collaborator_id: UUID) -> Row:
    """A person of the project; raises `Gone`."""
    return tx.one(
        "find_collaborator", "there is no such collaborator", **ref._asdict(), collaborator_id=collaborator_id
    )


def collaborators(tx: Transaction, ref: ProjectRef) -> Sequence[Row]:
    """All people of a project, the oldest first."""
    return tx.run("list_collaborators", **ref._asdict(), after_collaborator_id=None, limit=MOST_COLLABORATORS)


def add_availability(
    tx: Transaction, ref: ProjectRef, collaborator_id: UUID, kind: AvailabilityKind, span: Span
) -> Row:
    """Write down what a person says of a time; raises `Gone`, and `Conflict` when there is too much of it."""
    collaborator(tx, ref, collaborator_id)
    rows = tx.run(
        "add_availability",
        **ref._asdict(),
        collaborator_id=collaborator_id,
        kind=kind.value,
        starts_at=span.starts_at,
        ends_at=span.ends_at,
        source=BY_HAND,
        most=MOST_AVAILABILITIES,
    )
    if not rows:
        raise Conflict(f"collaborator_id: has {MOST_AVAILABILITIES} times already")
    return rows[0]


def remove_availability(tx: Transaction, ref: ProjectRef, collaborator_id: UUID, availability_id: UUID) -> Row:
    """Take a time back; raises `Gone`."""
    facts = {"collaborator_id": collaborator_id, "availability_id": availability_id}
    return tx.one("remove_availability", "there is no such availability", **ref._asdict(), **facts)


def _place_facts(tx: Transaction, ref: ProjectRef, facts: Mapping[str, object]) -> Mapping[str, object]:
    minutes = facts.get("minutes_to")
    if not isinstance(minutes, Mapping):
        return facts
    require_places(tx, ref, "minutes_to", list(minutes))
    return {**facts, "minutes_to": Jsonb({str(place): length for place, length in minutes.items()})}


def _check_collaborator(tx: Transaction, ref: ProjectRef, facts: Mapping[str, object]) -> None:
    home_id, user_id = facts["home_id"], facts["user_id"]
    if isinstance(home_id, UUID):
        require_places(tx, ref, "home_id", [home_id])
    if user_id is not None and not tx.run("knows_user", org_id=ref.org_id, user_id=user_id):
        raise Invalid("user_id", "names nobody of the org")
