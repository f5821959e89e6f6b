"""Files of a project: its plan leaves, and people's times come in. Jobs do both."""

from typing import Annotated
from uuid import UUID

from pydantic import Field

from domain.jobs.failures import Invalid
from domain.orgs.access.users import check_zone
from domain.payloads.exports import ExportFormat, PaperName, ProjectPlanPayload
from domain.payloads.imports import AvailabilityPayload, Counted, ImportFormat
from domain.planning.files.csv_file import encoding_of
from domain.planning.files.imports import format_of, source_of
from operations.call import Call
from operations.operation import WORDS, Record, Route
from operations.planning.projects import PLANNING, audit_of, ref_of
from storage.planning import artifacts, projects, run_sheets
from storage.planning.projects import ProjectRef
from storage.postgres.database import Transaction

Zone = Annotated[str | None, Field(max_length=100, description="Such as Europe/Berlin; without it the project's.")]

NamedFormat = Annotated[
    ImportFormat | None, Field(description="`csv` or `icalendar`; else by the file's media type or name.")
]


class FileJob(Record):
    """The job that makes or reads a file. Its output names the artifact, or says what was taken."""

    job_id: UUID
    project_id: UUID


@PLANNING.deed(
    "export", Route("POST", "/projects/{project_id}/exports", status=202), events=("plan.export_ordered",), keyed=True
)
def export_plan(
    call: Call,
    project_id: UUID,
    *,
    format: Annotated[ExportFormat, Field(description="A table (`csv`), or pages for a printer (`pdf`).")],  # noqa: A002 - the field's name
    run_sheet_id: Annotated[UUID | None, Field(description="Only this run sheet.")] = None,
    zone: Zone = None,
    paper: Annotated[PaperName, Field(description="Of a PDF: `a4`, `a3` or `us-letter`.")] = "a4",
) -> FileJob:
    """Write the plan into a file, which is an artifact of the project when the job has ended."""
    if zone is not None:
        check_zone(zone)
    payload = ProjectPlanPayload(
        project_id=project_id, run_sheet_id=run_sheet_id, format=format, zone=zone, paper=paper
    )
    with call.writing() as tx:

        def make() -> list[UUID]:
            ref = ref_of(tx, call, project_id)
            if run_sheet_id is not None:
                run_sheets.find(tx, ref, run_sheet_id)
            return [_ordered(tx, call, payload, run_sheet_id=str(run_sheet_id or ""), format=format)]

        (job_id,) = call.once(tx, make)
    return FileJob(job_id=job_id, project_id=project_id)


@PLANNING.deed(
    "import",
    Route("POST", "/projects/{project_id}/imports", status=202),
    events=("availability.import_ordered",),
    keyed=True,
)
def import_availability(  # noqa: PLR0913 - one parameter per field
    call: Call,
    project_id: UUID,
    *,
    artifact_id: Annotated[UUID, Field(description="The file.")],
    format: NamedFormat = None,  # noqa: A002 - the field's name
    collaborator_id: Annotated[UUID | None, Field(description="Whose times all are; a calendar needs it.")] = None,
    zone: Zone = None,
    encoding: Annotated[str, Field(max_length=40, description="Of a file without a byte order mark.")] = "utf-8",
    source: Annotated[
        str | None,
        Field(pattern=WORDS, max_length=200, description="An event of a source is one row; else the file's name."),
    ] = None,
    dry_run: Annotated[bool, Field(description="Whether nothing is written, and only what would be is told.")] = False,
    free_events: Annotated[Counted, Field(description="Free events of a calendar: `ignore` or `busy`.")] = "ignore",
    whole_days: Annotated[Counted, Field(description="Whole days that do not say: `ignore` or `busy`.")] = "busy",
) -> FileJob:
    """Take people's times from a file, all or none. The job says what is new, or fails and says all faults."""
    if zone is not None:
        check_zone(zone)
    encoding_of(b"", encoding)
    payload = AvailabilityPayload(
        project_id=project_id,
        artifact_id=artifact_id,
        format=format,
        collaborator_id=collaborator_id,
        zone=zone,
        encoding=encoding,
        source=source,
        dry_run=dry_run,
        free_events=free_events,
        whole_days=whole_days,
    )
    with call.writing() as tx:

        def make() -> list[UUID]:
            _check_file(tx, ref_of(tx, call, project_id), payload)
            return [_ordered(tx, call, payload, artifact_id=str(artifact_id), dry_run=dry_run)]

        (job_id,) = call.once(tx, make)
    return FileJob(job_id=job_id, project_id=project_id)


def _check_file(tx: Transaction, ref: ProjectRef, payload: AvailabilityPayload) -> None:
    """Raise `Invalid` by the field, alike for a file of another org or project; the job looks again."""
    found = artifacts.find(tx, payload.artifact_id)
    if found is None or found.org_id != ref.org_id or found.project_id not in {None, ref.project_id}:
        raise Invalid("artifact_id", "names no artifact of the project or the org")
    if not found.is_ready:
        raise Invalid("artifact_id", "names an artifact that was deleted, or whose time is over")
    source_of(payload.source, found.name)
    read_as = format_of(payload.format, found.media_type, found.name)
    if payload.collaborator_id is not None:
        projects.collaborator(tx, ref, payload.collaborator_id)
    elif read_as == "icalendar":
        raise Invalid("collaborator_id", "is missing: a calendar does not say whose it is")


def _ordered(tx: Transaction, call: Call, payload: ProjectPlanPayload | AvailabilityPayload, **facts: object) -> UUID:
    project_id = payload.project_id
    (made,) = call.enqueue(tx, payload, org_id=call.org, origin=call.origin, project_id=project_id)
    audit_of(tx, call, project_id, event="", job_id=str(made.job_id), **facts)
    return made.job_id
