"""Run sheets: their slots, who is in them, and what each change is to the audit log."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID
from zoneinfo import ZoneInfo

from domain.jobs.failures import Conflict, Gone
from domain.jobs.job import JsonObject, Origin
from domain.notifications.built_in import RUN_SHEET, body_of
from domain.planning.model import Slot
from domain.planning.sheet_changes import Sheet, changed_parts, lines_by_person
from storage.notifications import notifications
from storage.notifications.notifications import NotificationRequest
from storage.planning.projects import Project, ProjectRef, collaborator, require_places
from storage.postgres.database import Transaction
from storage.postgres.execution import Row

MOST_SLOTS = 1_000
"""Of one run sheet. Projects have several."""

CHANGED = "run_sheet.changed"
"""The event in the audit log."""


@dataclass(frozen=True, slots=True)
class RunSheet:
    """What happens when, in one document that people read."""

    run_sheet_id: UUID
    org_id: UUID
    project_id: UUID
    name: str
    revision: int
    created_at: datetime

    @property
    def ref(self) -> ProjectRef:
        """The project that it is of."""
        return ProjectRef(self.org_id, self.project_id)


@dataclass(frozen=True, slots=True)
class Editor:
    """Who changes run sheets of a project, and how the event `CHANGED` gets into the audit log."""

    project: Project
    by: Origin
    audit: Callable[[JsonObject], None]


def add(tx: Transaction, ref: ProjectRef, name: str) -> RunSheet:
    """Begin a run sheet."""
    return RunSheet(*tx.run("add_run_sheet", **ref._asdict(), name=name)[0])


def find(tx: Transaction, ref: ProjectRef, run_sheet_id: UUID) -> RunSheet:
    """A run sheet of the project; raises `Gone`."""
    return RunSheet(*tx.one("find_run_sheet", "there is no such run sheet", **ref._asdict(), run_sheet_id=run_sheet_id))


def listed(tx: Transaction, ref: ProjectRef, *, after: UUID | None = None, limit: int) -> Sequence[RunSheet]:
    """The run sheets of a project, the oldest first."""
    return [RunSheet(*row) for row in tx.run("list_run_sheets", **ref._asdict(), after_run_sheet_id=after, limit=limit)]


@contextmanager
def changing(tx: Transaction, editor: Editor, run_sheet_ids: Sequence[UUID] | None) -> Iterator[None]:
    """Change run sheets inside, all of the project's where none is named.

    Nobody else changes any of the org's meanwhile: a person may be in several projects, and whoever applies a proposal
    relies on what the others have them do. Each sheet that differs afterwards has the next revision and an event with
    what changed, and whoever is in a slot that has changed is told. Raises `Gone` for a sheet that the project lacks.
    """
    tx.run("hold_plans", org_id=editor.project.org_id)
    ids = None if run_sheet_ids is None else list(run_sheet_ids)
    held = [RunSheet(*row) for row in tx.run("hold_run_sheets", **editor.project.ref._asdict(), run_sheet_ids=ids)]
    if ids is not None and len(held) < len(set(ids)):
        raise Gone("there is no such run sheet")
    before = [_document(tx, sheet) for sheet in held]
    yield
    for sheet, was in zip(held, before, strict=True):
        has = _document(tx, find(tx, sheet.ref, sheet.run_sheet_id))
        if was != has:
            _note(tx, editor, sheet, was, has)


def _note(tx: Transaction, editor: Editor, sheet: RunSheet, was: Sheet, has: Sheet) -> None:
    ((revision,),) = tx.run("raise_revision", **sheet.ref._asdict(), run_sheet_id=sheet.run_sheet_id)
    first, second = changed_parts(was, has)
    facts = {"project_id": str(sheet.project_id), "run_sheet_id": str(sheet.run_sheet_id), "revision": revision}
    # With the zone of now: whoever reads of it later sees the clocks by which it was meant.
    editor.audit({**facts, "zone": editor.project.zone, "before": first, "after": second})
    lines = lines_by_person(was, has, ZoneInfo(editor.project.zone))
    rows = tx.run("users_of_collaborators", **sheet.ref._asdict(), collaborator_ids=sorted(map(UUID, lines)))
    for row in rows:
        body = body_of(lines[str(row.collaborator_id)])
        data = {"title": f"{has['name']}: your times have changed", "body": body}
        request = NotificationRequest(row.user_id, RUN_SHEET, data, bucket=f"{sheet.run_sheet_id}:{revision}")
        notifications.notify(tx, sheet.org_id, request, by=editor.by)


def rename(tx: Transaction, ref: ProjectRef, run_sheet_id: UUID, name: str) -> None:
    """Give a run sheet another name, within `changing`."""
    tx.run("rename_run_sheet", **ref._asdict(), run_sheet_id=run_sheet_id, name=name)


def slots(tx: Transaction, sheet: RunSheet) -> Iterator[Row]:
    """All slots of a run sheet with who is in them, in the order of their starts, page by page."""
    of_sheet = {**sheet.ref._asdict(), "run_sheet_id": sheet.run_sheet_id, "limit": MOST_SLOTS}
    page = tx.run("list_slots", **of_sheet, after_starts_at=None, after_slot_id=None)
    while page:
        yield from page
        page = tx.run("list_slots", **of_sheet, after_starts_at=page[-1].starts_at, after_slot_id=page[-1].slot_id)


def slot(tx: Transaction, ref: ProjectRef, slot_id: UUID) -> Row:
    """A slot of the project; raises `Gone`."""
    return tx.one("find_slot", "there is no such slot", **ref._asdict(), slot_id=slot_id)


def add_slot(tx: Transaction, ref: ProjectRef, run_sheet_id: UUID, wanted: Slot) -> UUID:
    """Add a slot, within `changing`; raises `Conflict` when the sheet has too many, and `Invalid` with the field."""
    rows = tx.run("add_slot", **_columns(tx, ref, wanted), run_sheet_id=run_sheet_id, most=MOST_SLOTS)
    if not rows:
        raise Conflict(f"run_sheet_id: the run sheet has {MOST_SLOTS} slots already")
    return UUID(str(rows[0].id))


def change_slot(tx: Transaction, ref: ProjectRef, wanted: Slot) -> None:
    """Make a slot as it is wanted, within `changing`; raises `Invalid` with the field."""
    tx.run("change_slot", **_columns(tx, ref, wanted), slot_id=wanted.slot_id)


def remove_slot(tx: Transaction, ref: ProjectRef, slot_id: UUID) -> None:
    """Remove a slot and who is in it, within `changing`."""
    tx.run("remove_slot", **ref._asdict(), slot_id=slot_id)


def assign(tx: Transaction, ref: ProjectRef, pair: tuple[UUID, UUID], *, is_pinned: bool, by: str) -> None:
    """Put a person in a slot, within `changing`; `pair` is the slot and the person. Raises `Gone`."""
    slot_id, collaborator_id = pair
    collaborator(tx, ref, collaborator_id)
    facts = {"slot_id": slot_id, "collaborator_id": collaborator_id, "is_pinned": is_pinned, "assigned_by": by}
    tx.run("assign", **ref._asdict(), **facts)


def unassign(tx: Transaction, ref: ProjectRef, pair: tuple[UUID, UUID]) -> bool:
    """Take a person out of a slot, within `changing`; whether they were in it."""
    return bool(tx.run("unassign", **ref._asdict(), slot_id=pair[0], collaborator_id=pair[1]))


def _document(tx: Transaction, sheet: RunSheet) -> Sheet:
    rows = tx.run("describe_slots", **sheet.ref._asdict(), run_sheet_id=sheet.run_sheet_id)
    return {"name": sheet.name, "slots": rows[0].slots}


def _columns(tx: Transaction, ref: ProjectRef, wanted: Slot) -> Mapping[str, object]:
    if wanted.place_id is not None:
        require_places(tx, ref, "place_id", [wanted.place_id])
    return {
        **ref._asdict(),
        "name": wanted.name,
        "starts_at": wanted.span.starts_at,
        "ends_at": wanted.span.ends_at,
        "place_id": wanted.place_id,
        "skills": sorted(wanted.skills),
        "headcount": wanted.headcount,
        "priority": wanted.priority,
    }
