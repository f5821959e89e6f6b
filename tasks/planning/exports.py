"""The exports family: plans as files that people open or pin up (docs: files.md)."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

from domain.jobs.job import Done, JsonObject, Outcome
from domain.jobs.queues import Queue
from domain.jobs.retry import EXPORTS
from domain.payloads.exports import ProjectPlanPayload
from domain.planning.files.artifacts import STORE, ArtifactFacts
from domain.planning.files.csv_columns import write_lines
from domain.planning.files.plan_paper import (
    COLUMNS,
    MOST_SHOWN,
    PlannedSlot,
    PlanPaper,
    bounded_bytes,
    bounded_slots,
    file_name,
    table_rows,
)
from domain.planning.model import Span
from engine.catalogue import job
from engine.context import JobContext
from observability.on_demand import on_demand
from providers.ports.paper import Pages, Printer
from storage.jobs import ledger
from storage.planning import projects, run_sheets
from storage.planning.projects import Project, ProjectRef
from storage.planning.run_sheets import RunSheet
from storage.postgres.database import Transaction
from storage.postgres.execution import Row
from tasks.planning.files.artifact_files import keep_file, record_file, reference_to
from tasks.planning.files.projects import project_of

KIND = "plan"
PAGE = 500
"""Slots of one statement, and rows of a table between two looks whether the job is to end."""
MEDIA_TYPES = {"csv": "text/csv", "pdf": "application/pdf"}


class ReadPlan(NamedTuple):
    """A plan as it was at one moment."""

    project: Project
    sheets: Sequence[RunSheet]
    slots: Sequence[PlannedSlot]
    read_at: datetime

    @property
    def revision(self) -> int:
        """Of several sheets the sum: each change raises that of one sheet, and no sheet is ever deleted."""
        return sum(one.revision for one in self.sheets)


@job(queue=Queue.EXPORTS, retry=EXPORTS, deadline=timedelta(minutes=10), providers=(STORE,))
def project_plan(ctx: JobContext, payload: ProjectPlanPayload) -> Outcome:
    """Write a project's plan, or one run sheet of it, into a file: a table, or pages for a printer."""
    with ctx.read_snapshot() as tx:
        plan = _read(tx, project_of(ctx, tx, payload.project_id), payload.run_sheet_id)
    ctx.progress({"slots": len(plan.slots)})
    zone = ZoneInfo(payload.zone or plan.project.zone)
    title = plan.project.name if payload.run_sheet_id is None else f"{plan.project.name}, {plan.sheets[0].name}"
    facts = ArtifactFacts(
        kind=KIND, name=file_name(title, plan.revision, payload.format), media_type=MEDIA_TYPES[payload.format]
    )
    output: JsonObject = {"format": payload.format, "revision": plan.revision, "slots": len(plan.slots)}
    if payload.format == "csv":
        pieces: Iterator[bytes] = _table(ctx, plan, zone)
    else:
        pages = _pages(plan, zone, payload.paper)
        pieces = iter([pages.pdf])
        output["unprinted"] = [f"U+{ord(sign):04X}" for text in pages.unprinted[:MOST_SHOWN] for sign in text]
    made = keep_file(ctx, facts, pieces, project_id=payload.project_id)
    return Done(output | reference_to(made), writes=lambda tx: record_file(tx, ctx.org_id, made))


def _read(tx: Transaction, project: Project, run_sheet_id: UUID | None) -> ReadPlan:
    """The plan, page by page in the caller's snapshot; raises `Gone`, and `Invalid` for one that is too large."""
    sheets = (
        list(_sheets(tx, project.ref)) if run_sheet_id is None else [run_sheets.find(tx, project.ref, run_sheet_id)]
    )
    names = {one.place_id: one.name for one in projects.places(tx, project.ref)}
    slots = (
        _planned(slot, sheet.name, "" if slot.place_id is None else names[slot.place_id])
        for sheet in sheets
        for slot in run_sheets.slots(tx, sheet)
    )
    return ReadPlan(project, sheets, list(bounded_slots(slots)), ledger.read_time(tx))


def _sheets(tx: Transaction, ref: ProjectRef) -> Iterator[RunSheet]:
    after: UUID | None = None
    while page := run_sheets.listed(tx, ref, after=after, limit=PAGE):
        yield from page
        after = page[-1].run_sheet_id


def _planned(slot: Row, run_sheet: str, place: str) -> PlannedSlot:
    people = tuple((UUID(one["collaborator_id"]), str(one["name"])) for one in slot.people)
    span = Span(slot.starts_at, slot.ends_at)
    return PlannedSlot(slot.slot_id, slot.name, span, slot.headcount, run_sheet, place, people)


def _table(ctx: JobContext, plan: ReadPlan, zone: ZoneInfo) -> Iterator[bytes]:
    lines = write_lines(COLUMNS, table_rows(plan.slots, zone))
    for number, line in enumerate(bounded_bytes(lines)):
        if number and number % PAGE == 0:
            ctx.check()
            ctx.progress({"slots": len(plan.slots), "rows": number})
        yield line


def _pages(plan: ReadPlan, zone: ZoneInfo, paper: str) -> Pages:
    # One for each job: its compiler is good for one thread at a time, and costs 3 ms.
    printer: Printer = on_demand("providers.typst.printer:TypstPrinter")()
    subtitle = ", ".join(one.name for one in plan.sheets[:MOST_SHOWN])
    revision = str(plan.revision)
    return printer.print_plan(
        PlanPaper(plan.project.name, tuple(plan.slots), zone, revision, plan.read_at, paper, subtitle)
    )
