"""Run sheets, their slots, and who is in them by a person's own decision."""

from datetime import datetime
from typing import Annotated, ClassVar
from uuid import UUID

from pydantic import BaseModel, Field

from domain.jobs.contract import Instant
from domain.jobs.failures import Gone
from domain.jobs.job import JsonObject
from domain.payloads.audit import EnrichPayload
from domain.planning.model import MOST_HEADCOUNT, MOST_PRIORITY, Slot, Span
from operations.call import Call
from operations.operation import Record, Route
from operations.pages import Page, Window
from operations.planning.projects import PLANNING, Name, NewName, Skills, audit_of, ref_of
from storage.planning import projects, run_sheets
from storage.planning.projects import ProjectRef
from storage.planning.run_sheets import CHANGED, Editor, RunSheet
from storage.postgres.database import Transaction
from storage.postgres.execution import Row

SHEETS = "/projects/{project_id}/run-sheets"
SLOTS = SHEETS + "/{run_sheet_id}/slots"
OfSlot = Annotated[UUID | None, Field(description="The place; none is anywhere.")]
Headcount = Annotated[int, Field(ge=1, le=MOST_HEADCOUNT, description="How many people are wanted.")]
Priority = Annotated[int, Field(ge=1, le=MOST_PRIORITY, description="The most important has 10.")]


class RunSheetView(Record):
    """What happens when, in one document that people read."""

    plural: ClassVar = "run_sheets"
    run_sheet_id: UUID
    name: str
    revision: int = Field(description="Each change of the sheet, its slots or their people raises it.")
    created_at: datetime


class PersonInSlot(BaseModel):
    """Who is in a slot."""

    collaborator_id: UUID
    name: str
    is_pinned: bool


class SlotView(Record):
    """A time of a run sheet for which people are wanted, and who is in it."""

    plural: ClassVar = "slots"
    columns: ClassVar = ("slot_id", "name", "starts_at", "ends_at", "headcount", "people")
    slot_id: UUID
    run_sheet_id: UUID
    name: str
    starts_at: datetime
    ends_at: datetime
    place_id: UUID | None
    skills: list[str]
    headcount: int
    priority: int
    people: list[PersonInSlot]


class SlotChange(Record):
    """A slot that was added, changed or removed, or whose people were, and the revision of its run sheet since."""

    slot_id: UUID
    run_sheet_id: UUID
    revision: int


@PLANNING.look("run-sheets", Route("GET", SHEETS))
def list_run_sheets(call: Call, window: Window, project_id: UUID) -> Page[RunSheetView]:
    """List the run sheets of a project, the oldest first."""
    with call.reading() as tx:
        return window.records(tx, "list_run_sheets", RunSheetView, **ref_of(tx, call, project_id)._asdict())


@PLANNING.look("run-sheet", Route("GET", SHEETS + "/{run_sheet_id}"))
def show_run_sheet(call: Call, project_id: UUID, run_sheet_id: UUID) -> RunSheetView:
    """Show a run sheet; its slots are a list of their own."""
    with call.reading() as tx:
        return RunSheetView.model_validate(run_sheets.find(tx, ProjectRef(call.org, project_id), run_sheet_id))


@PLANNING.deed("add-run-sheet", Route("POST", SHEETS, status=201), events=("run_sheet.added",), keyed=True)
def add_run_sheet(call: Call, project_id: UUID, *, name: Name) -> RunSheetView:
    """Begin a run sheet."""
    with call.writing() as tx:

        def make() -> list[UUID]:
            made = run_sheets.add(tx, ref_of(tx, call, project_id), name)
            audit_of(tx, call, project_id, run_sheet_id=str(made.run_sheet_id), name=name)
            return [made.run_sheet_id]

        (run_sheet_id,) = call.once(tx, make)
        return RunSheetView.model_validate(run_sheets.find(tx, ProjectRef(call.org, project_id), run_sheet_id))


@PLANNING.deed("rename-run-sheet", Route("PATCH", SHEETS + "/{run_sheet_id}"), events=(CHANGED, "run_sheet.kept"))
def rename_run_sheet(call: Call, project_id: UUID, run_sheet_id: UUID, *, name: Name) -> RunSheetView:
    """Give a run sheet another name."""
    with call.writing() as tx:
        editor = editor_of(tx, call, project_id)
        with run_sheets.changing(tx, editor, [run_sheet_id]):
            run_sheets.rename(tx, editor.project.ref, run_sheet_id, name)
        return RunSheetView.model_validate(_kept(tx, call, editor, run_sheet_id))


@PLANNING.look("slots", Route("GET", SLOTS))
def list_slots(call: Call, window: Window, project_id: UUID, run_sheet_id: UUID) -> Page[SlotView]:
    """List the slots of a run sheet with who is in them, in the order of their starts."""
    with call.reading() as tx:
        ref = ref_of(tx, call, project_id)
        run_sheets.find(tx, ref, run_sheet_id)
        return window.records(tx, "list_slots", SlotView, **ref._asdict(), run_sheet_id=run_sheet_id)


@PLANNING.deed("add-slot", Route("POST", SLOTS, status=201), events=(CHANGED,), keyed=True)
def add_slot(  # noqa: PLR0913 - the facts of a slot
    call: Call,
    project_id: UUID,
    run_sheet_id: UUID,
    *,
    name: Name,
    starts_at: Annotated[Instant, Field(description="From then on.")],
    ends_at: Annotated[Instant, Field(description="Until then; the end is no part of it.")],
    place_id: OfSlot = None,
    skills: Skills = None,
    headcount: Headcount = 1,
    priority: Priority = 1,
) -> SlotChange:
    """Add a slot."""
    span = Span(starts_at, ends_at)
    wanted = Slot(UUID(int=0), name, span, place_id, frozenset(skills or ()), headcount, priority)
    with call.writing() as tx:

        def make() -> list[UUID]:
            editor = editor_of(tx, call, project_id)
            with run_sheets.changing(tx, editor, [run_sheet_id]):
                return [run_sheets.add_slot(tx, editor.project.ref, run_sheet_id, wanted)]

        (slot_id,) = call.once(tx, make)
        return _changed(slot_id, run_sheets.find(tx, ProjectRef(call.org, project_id), run_sheet_id))


@PLANNING.deed("set-slot", Route("PATCH", SLOTS + "/{slot_id}"), events=(CHANGED, "run_sheet.kept"))
def set_slot(  # noqa: PLR0913 - the facts of a slot
    call: Call,
    project_id: UUID,
    run_sheet_id: UUID,
    slot_id: UUID,
    *,
    name: NewName = None,
    starts_at: Annotated[Instant | None, Field(description="From then on.")] = None,
    ends_at: Annotated[Instant | None, Field(description="Until then; the end is no part of it.")] = None,
    place_id: OfSlot = None,
    skills: Skills = None,
    headcount: Annotated[int | None, Field(ge=1, le=MOST_HEADCOUNT, description="How many people are wanted.")] = None,
    priority: Annotated[int | None, Field(ge=1, le=MOST_PRIORITY, description="The most important has 10.")] = None,
) -> SlotChange:
    """Change a slot; what is not given stays, and given skills replace all that were there."""
    with call.writing() as tx:
        editor = editor_of(tx, call, project_id)
        with run_sheets.changing(tx, editor, [run_sheet_id]):
            stored = _slot(tx, editor.project.ref, run_sheet_id, slot_id)
            wanted = Slot(
                slot_id,
                name or stored.name,
                Span(starts_at or stored.starts_at, ends_at or stored.ends_at),
                place_id or stored.place_id,
                frozenset(stored.skills if skills is None else skills),
                headcount or stored.headcount,
                priority or stored.priority,
            )
            run_sheets.change_slot(tx, editor.project.ref, wanted)
        return _changed(slot_id, _kept(tx, call, editor, run_sheet_id))


@PLANNING.deed("remove-slot", Route("DELETE", SLOTS + "/{slot_id}"), events=(CHANGED, "run_sheet.kept"))
def remove_slot(call: Call, project_id: UUID, run_sheet_id: UUID, slot_id: UUID) -> SlotChange:
    """Remove a slot; whoever was in it is in it no more."""
    with call.writing() as tx:
        editor = editor_of(tx, call, project_id)
        with run_sheets.changing(tx, editor, [run_sheet_id]):
            _slot(tx, editor.project.ref, run_sheet_id, slot_id)
            run_sheets.remove_slot(tx, editor.project.ref, slot_id)
        return _changed(slot_id, _kept(tx, call, editor, run_sheet_id))


@PLANNING.deed(
    "assign", Route("PUT", SLOTS + "/{slot_id}/people/{collaborator_id}"), events=(CHANGED, "run_sheet.kept")
)
def assign_person(
    call: Call,
    project_id: UUID,
    run_sheet_id: UUID,
    slot_id: UUID,
    collaborator_id: UUID,
    *,
    is_pinned: Annotated[bool, Field(description="Whether each proposal keeps it, whatever rule it breaks.")] = False,
) -> SlotChange:
    """Put a person in a slot. No rule is asked: a scan of conflicts says which are broken."""
    with call.writing() as tx:
        editor = editor_of(tx, call, project_id)
        with run_sheets.changing(tx, editor, [run_sheet_id]):
            _slot(tx, editor.project.ref, run_sheet_id, slot_id)
            pair = (slot_id, collaborator_id)
            run_sheets.assign(tx, editor.project.ref, pair, is_pinned=is_pinned, by=call.name)
        return _changed(slot_id, _kept(tx, call, editor, run_sheet_id))


@PLANNING.deed("unassign", Route("DELETE", SLOTS + "/{slot_id}/people/{collaborator_id}"), events=(CHANGED,))
def unassign_person(
    call: Call, project_id: UUID, run_sheet_id: UUID, slot_id: UUID, collaborator_id: UUID
) -> SlotChange:
    """Take a person out of a slot."""
    with call.writing() as tx:
        editor = editor_of(tx, call, project_id)
        with run_sheets.changing(tx, editor, [run_sheet_id]):
            _slot(tx, editor.project.ref, run_sheet_id, slot_id)
            if not run_sheets.unassign(tx, editor.project.ref, (slot_id, collaborator_id)):
                raise Gone("the person is not in the slot")
        return _changed(slot_id, run_sheets.find(tx, editor.project.ref, run_sheet_id))


def editor_of(tx: Transaction, call: Call, project_id: UUID) -> Editor:
    """The caller as who changes run sheets of a project; raises `Gone` for another org's."""
    project = projects.project(tx, ProjectRef(call.org, project_id))

    def audit(data: JsonObject) -> None:
        call.audit(tx, call.org, data, event=CHANGED, project_id=project_id)
        call.enqueue(tx, EnrichPayload(), org_id=call.org, origin=call.origin)

    return Editor(project, call.origin, audit)


def _kept(tx: Transaction, call: Call, editor: Editor, run_sheet_id: UUID) -> RunSheet:
    """The run sheet as it is now; where all was so already, the audit log says that somebody asked."""
    sheet = run_sheets.find(tx, editor.project.ref, run_sheet_id)
    if not call.is_audited:
        facts = {"run_sheet_id": str(run_sheet_id), "revision": sheet.revision}
        audit_of(tx, call, sheet.project_id, event="run_sheet.kept", **facts)
    return sheet


def _slot(tx: Transaction, ref: ProjectRef, run_sheet_id: UUID, slot_id: UUID) -> Row:
    """The slot, unless it is of another run sheet; raises `Gone`."""
    stored = run_sheets.slot(tx, ref, slot_id)
    if stored.run_sheet_id != run_sheet_id:
        raise Gone("there is no such slot")
    return stored


def _changed(slot_id: UUID, sheet: RunSheet) -> SlotChange:
    return SlotChange(slot_id=slot_id, run_sheet_id=sheet.run_sheet_id, revision=sheet.revision)
