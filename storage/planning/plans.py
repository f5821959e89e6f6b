"""The plan as the domain has it, the conflicts that PostgreSQL finds in it, and the proposals that are made for it."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID
from zoneinfo import ZoneInfo

from psycopg.types.json import Jsonb

from domain.jobs.job import JsonObject
from domain.planning.conflicts import ConflictKind, PlanConflict
from domain.planning.fingerprint import hash_of, parts_of
from domain.planning.model import (
    ALWAYS,
    Assignment,
    Availability,
    AvailabilityKind,
    Collaborator,
    Commitment,
    Plan,
    Slot,
    Span,
    Weights,
)
from domain.planning.programme import SlotVariable
from domain.planning.rank import Proposal
from domain.planning.travel import DETOUR, EARTH_KM, MOST_MINUTES, Place, Travel
from storage.planning.projects import Project, ProjectRef
from storage.postgres.database import Transaction
from storage.postgres.execution import Row
from storage.postgres.retention import Retention


@dataclass(frozen=True, slots=True)
class StoredProposal:
    """A whole plan that a job has suggested."""

    proposal_id: UUID
    org_id: UUID
    project_id: UUID
    job_id: UUID
    run_sheet_id: UUID | None
    rank: int
    weights: Mapping[str, int]
    plan_hash: str
    points: Mapping[str, int]
    total: int
    most: int
    is_proved: bool
    created_at: datetime
    applied_at: datetime | None
    applied_by: str | None
    plan_parts: Mapping[str, str] | None = None
    """None in lists, as are the next two."""
    choices: Sequence[JsonObject] | None = None
    reasons: JsonObject | None = None

    @property
    def chosen(self) -> Sequence[SlotVariable]:
        """Who is in which slot."""
        return [SlotVariable(UUID(one["slot_id"]), UUID(one["collaborator_id"])) for one in self.choices or ()]


@dataclass(frozen=True, slots=True)
class Suggested:
    """Where a proposal comes from: the job, and what it was asked about."""

    ref: ProjectRef
    job_id: UUID
    run_sheet_id: UUID | None
    plan: Plan


KEEP_FOR = timedelta(days=30)
"""How long a proposal is kept, with up to some megabytes of reasons. It is good for the plan that it was made for, and
after a month that plan has changed, or its days are past."""

RETENTION = Retention("proposals", "created_at", KEEP_FOR, batch=100)
"""Whether they were applied or not: the audit log says that."""

MOST_FOUND = 10_000
"""Conflicts of each kind that a scan reads. Somebody in 1,500 slots at once has a million of them."""


@dataclass(frozen=True, slots=True)
class FoundConflicts:
    """The first conflicts of each kind, and how many of each there are."""

    conflicts: Sequence[PlanConflict]
    counts: Mapping[ConflictKind, int]

    @property
    def total(self) -> int:
        """How many there are of all kinds."""
        return sum(self.counts.values())


def load(tx: Transaction, project: Project, run_sheet_id: UUID | None, weights: Weights | None = None) -> Plan:
    """The plan of a run sheet, or of all of the project's. Read it in one snapshot."""
    of_sheet = {**project.ref._asdict(), "run_sheet_id": run_sheet_id}
    slots = tuple(_slot(row) for row in tx.run("plan_slots", **of_sheet))
    rows, commitments = tx.run("plan_places", **project.ref._asdict()), list[Commitment]()
    places = {row.id: Place(row.id, row.name, row.latitude, row.longitude) for row in rows}
    known = {str(place_id): place_id for place_id in places}  # a thousand places have a million ways
    table = {row.id: {known[end]: minutes for end, minutes in row.minutes_to.items() if end in known} for row in rows}
    for row in tx.run("plan_commitments", **of_sheet):
        if row.is_elsewhere and row.place_id is not None:
            places[row.place_id] = Place(row.place_id, "", row.latitude, row.longitude)
        commitments.append(Commitment(row.collaborator_id, Span(row.starts_at, row.ends_at), row.place_id))
    return Plan(
        slots=slots,
        collaborators=_people(tx, project.ref, slots),
        assignments=tuple(Assignment(*row) for row in tx.run("plan_assignments", **of_sheet)),
        commitments=tuple(commitments),
        travel=Travel(tuple(places.values()), table, project.speed_kmh),
        zone=ZoneInfo(project.zone),
        weights=weights or Weights(),
    )


def find_conflicts(tx: Transaction, project: Project, window: Span, most: int = MOST_FOUND) -> FoundConflicts:
    """The broken rules of which a slot is in a window: what `domain.planning.conflicts` finds in the whole plan.

    The first `most` of each kind; all are counted.
    """
    tx.run("join_whole_projects")
    of_window = {**project.ref._asdict(), "starts_at": window.starts_at, "ends_at": window.ends_at, "most": most}
    travel = {
        "earth_km": EARTH_KM,
        "detour": DETOUR,
        "most_minutes": MOST_MINUTES,
        "speed_kmh": project.speed_kmh,
    }
    rows: Mapping[ConflictKind, Sequence[Row]] = {
        ConflictKind.SKILL: tx.run("find_skill_conflicts", **of_window),
        ConflictKind.AVAILABILITY: tx.run("find_availability_conflicts", **of_window),
        ConflictKind.OVERLAP: tx.run("find_overlap_conflicts", **of_window),
        ConflictKind.TRAVEL: tx.run("find_travel_conflicts", **of_window, **travel),
        ConflictKind.HOURS: tx.run("find_hours_conflicts", **of_window, zone=project.zone),
    }
    found: list[PlanConflict] = []
    for kind, of_kind in rows.items():
        conflicts = (_conflict(kind, row) for row in of_kind)
        found += sorted(conflicts, key=lambda one: (one.collaborator_id, one.slot_ids, one.detail))
    return FoundConflicts(found, {kind: of_kind[0].total if of_kind else 0 for kind, of_kind in rows.items()})


def add_proposal(tx: Transaction, by: Suggested, proposal: Proposal, *, rank: int, reasons: JsonObject) -> UUID:
    """Keep a proposal for a plan; returns its id."""
    parts = parts_of(by.plan)
    (row,) = tx.run(
        "add_proposal",
        **by.ref._asdict(),
        job_id=by.job_id,
        run_sheet_id=by.run_sheet_id,
        rank=rank,
        weights=Jsonb(asdict(by.plan.weights)),
        plan_hash=hash_of(parts),
        plan_parts=Jsonb(parts),
        points=Jsonb(asdict(proposal.points)),
        total=proposal.points.total,
        most=proposal.most,
        is_proved=proposal.is_proved,
        choices=Jsonb(
            [{"slot_id": str(one.slot_id), "collaborator_id": str(one.collaborator_id)} for one in proposal.choices]
        ),
        reasons=Jsonb(reasons),
    )
    return UUID(str(row.id))


def proposal(tx: Transaction, org_id: UUID, proposal_id: UUID) -> StoredProposal:
    """A proposal of the org; raises `Gone`."""
    return StoredProposal(*tx.one("find_proposal", "there is no such proposal", org_id=org_id, proposal_id=proposal_id))


def mark_applied(tx: Transaction, org_id: UUID, proposal_id: UUID, by: str) -> datetime | None:
    """Write down who has applied a proposal, and when; None when somebody did before."""
    rows = tx.run("mark_applied", org_id=org_id, proposal_id=proposal_id, applied_by=by)
    return rows[0].applied_at if rows else None


def _slot(row: Row) -> Slot:
    span = Span(row.starts_at, row.ends_at)
    return Slot(row.id, row.name, span, row.place_id, frozenset(row.skills), row.headcount, row.priority)


def _people(tx: Transaction, ref: ProjectRef, slots: Sequence[Slot]) -> tuple[Collaborator, ...]:
    times: dict[UUID, list[Availability]] = defaultdict(list)
    begin = min((one.span.starts_at for one in slots), default=ALWAYS.starts_at)
    end = max((one.span.ends_at for one in slots), default=ALWAYS.ends_at)
    for row in tx.run("plan_availabilities", **ref._asdict(), starts_at=begin, ends_at=end) if slots else ():
        stated = Availability(Span(row.starts_at, row.ends_at), AvailabilityKind(row.kind))
        times[row.collaborator_id].append(stated)
    return tuple(
        Collaborator(
            row.id,
            row.name,
            frozenset(row.skills),
            tuple(sorted(times[row.id])),
            row.home_id,
            row.most_minutes_a_day,
            row.most_minutes_a_week,
        )
        for row in tx.run("plan_people", **ref._asdict())
    )


def _conflict(kind: ConflictKind, row: Row) -> PlanConflict:
    if kind in {ConflictKind.OVERLAP, ConflictKind.TRAVEL}:
        detail = "" if row.elsewhere_at is None else row.elsewhere_at.astimezone(UTC).isoformat()
    else:
        detail = row.detail
    return PlanConflict(kind, row.collaborator_id, tuple(row.slot_ids), detail, row.minutes)
