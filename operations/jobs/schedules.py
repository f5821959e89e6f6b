"""Schedules: which jobs an org wants by cron."""

from datetime import datetime
from typing import Annotated, ClassVar
from uuid import UUID

from pydantic import Field

from domain.jobs.contract import OLDEST_VERSION
from domain.jobs.failures import Conflict, Invalid
from domain.jobs.job import JsonObject, State
from domain.jobs.scheduling.cron import Missed, Timetable
from domain.orgs.access.api_keys import check_job_type
from domain.payloads import payload_types
from domain.payloads.other_names import read_uuid
from domain.payloads.payload import Payload
from operations.call import Call
from operations.mail.accounts import target_to_write
from operations.operation import Area, Record, Route
from operations.pages import Page, Window
from storage.jobs import payload_names
from storage.jobs.schedules import schedules
from storage.jobs.schedules.schedules import LONGEST_NAME, RequestedJob
from storage.orgs.access import users
from storage.postgres.database import Transaction

SCHEDULES = Area(
    "schedules", "Add, list, pause, resume and remove schedules: jobs that an org wants by cron.", org="required"
)
Name = Annotated[str, Field(pattern=r"^[^./\s\x00-\x1f\x7f][^/\x00-\x1f\x7f]*$", max_length=LONGEST_NAME)]
"""A name that a path can carry: no slash, no control character, and neither a dot nor a space at its head."""
NAMES_SCHEDULE = "schedule_id"
"""The field by which a job says which schedule has enqueued it."""
NAMES_MAILBOX = frozenset({"account_id", "connection_id", "user_id"})


class ScheduleView(Record):
    """One schedule."""

    values: ClassVar = ("payload",)
    plural: ClassVar = "schedules"
    columns: ClassVar = (
        "org_id", "name", "owner_id", "job_type", "cron", "zone", "missed", "enabled", "next_run_at", "last_run_at",
        "stopped",
    )  # fmt: skip
    schedule_id: UUID
    org_id: UUID
    name: str
    owner_id: UUID | None = Field(description="Whose it is: the actor of its jobs. Null: the org's own.")
    job_type: str
    payload: JsonObject
    payload_version: int
    cron: str
    zone: str
    missed: Missed
    next_run_at: datetime
    last_run_at: datetime | None
    enabled: bool
    stopped: str | None = Field(description="Why it does not run though nobody paused it.")
    created_at: datetime
    created_by: str
    last_job_id: UUID | None = Field(None, description="The job of the latest due time; in the list only.")
    last_job_state: State | None = None


class ScheduledJob(Record):
    """The job of a schedule that somebody wanted now."""

    name: str
    job_id: UUID


@SCHEDULES.look("list", Route("GET", "/schedules"), org="optional")
def list_schedules(call: Call, window: Window) -> Page[ScheduleView]:
    """List schedules by org and name, and when they are due next."""
    with call.reading() as tx:
        return window.records(tx, "list_schedules", ScheduleView)


@SCHEDULES.deed("add", Route("POST", "/schedules", status=201), events=("schedule.added",), ledger_audits=True)
def add_schedule(  # noqa: PLR0913 - one parameter per field
    call: Call,
    name: Name,
    *,
    job_type: Annotated[str, Field(max_length=100, description="The job type.")],
    cron: Annotated[
        str, Field(max_length=200, description="Minute, hour, day of month, month, day of week: '30 8 * * mon-fri'.")
    ],
    owner_id: Annotated[
        UUID | None,
        Field(description="Whose schedule it is, a person of the org: the actor of its jobs. Left out: the org's own."),
    ] = None,
    zone: Annotated[
        str | None,
        Field(
            max_length=100, description="Whose clocks are meant, such as Europe/Berlin; left out, the owner's, or UTC."
        ),
    ] = None,
    payload: Annotated[JsonObject | None, Field(description="What the job is to carry.")] = None,
    payload_version: Annotated[int, Field(ge=1, le=1000, description="The version of its shape.")] = OLDEST_VERSION,
    missed: Annotated[
        Missed, Field(description="What becomes of due times that went by while nobody looked.")
    ] = Missed.SKIP,
) -> ScheduleView:
    """Enqueue a job at each time that the expression names."""
    known = payload_types.find(job_type)
    if known is None:
        raise Invalid("job_type", f"{job_type} is no known job type")
    if not call.is_of_fleet:
        check_job_type(known.declaration)
    given = known.upcast(payload or {}, payload_version)
    with call.writing() as tx:
        own_zone = _zone_of(tx, call.org, owner_id)
        timetable = Timetable(cron, own_zone if zone is None else zone, missed)
        work = _work(tx, call.org, known, given, owner_id)
        made = schedules.add(tx, call.org, name, work, timetable, owner_id=owner_id, by=call.origin)
        return ScheduleView.model_validate(made)


def _zone_of(tx: Transaction, org_id: UUID, owner_id: UUID | None) -> str:
    """Whose clocks a schedule means that names no zone; raises `Invalid` for an owner who is nobody of the org."""
    if owner_id is None:
        return "UTC"
    zone = users.zone_of(tx, org_id, owner_id)
    if zone is None:
        raise Invalid("owner_id", "names nobody of the org")
    return zone


def _work(
    tx: Transaction, org_id: UUID, known: type[Payload], given: JsonObject, owner_id: UUID | None
) -> RequestedJob:
    """What is enqueued each time; a job that names its schedule and no mailbox works on the owner's."""
    declared, renamed = known.declaration, known.renamed(given)
    if renamed.words is not None:
        raise Invalid("payload", f"{declared.job_type} has other words each time: a schedule cannot carry them")
    names_schedule = NAMES_SCHEDULE in known.model_fields
    if names_schedule and renamed.payload.get(NAMES_SCHEDULE) is not None:
        raise Invalid(f"payload.{NAMES_SCHEDULE}", "is the schedule's own id: leave it out")
    if names_schedule and owner_id is not None and not NAMES_MAILBOX & given.keys():
        given = {**given, "user_id": str(owner_id)}
    named = payload_names.resolve(tx, known, given, org_id=org_id)
    # As the class writes it: a schedule names its account by one text, however its maker wrote the id.
    document = known.read(named, declared.version).document()
    target_to_write(tx, read_uuid(document.get("account_id")), org_id)
    return RequestedJob(declared.job_type, document, declared.version, names_schedule=names_schedule)


@SCHEDULES.deed(
    "run",
    Route("POST", "/schedules/{name}/run", location="/v1/jobs/{job_id}", status=202),
    events=("job.enqueued",),
    ledger_audits=True,
    keyed=True,
)
def run_schedule(call: Call, name: Name) -> ScheduledJob:
    """Enqueue a schedule's job now, beside its due times; of a paused one, too."""
    with call.writing() as tx:

        def make() -> list[UUID]:
            found = schedules.find(tx, call.org, name)
            known = payload_types.find(found.job_type)
            if known is None:
                raise Conflict(f"name: this release knows no job type {found.job_type}")
            if not call.is_of_fleet:
                check_job_type(known.declaration)
            payload = known.read(found.payload, found.payload_version)
            return [one.job_id for one in call.enqueue_for(call.org)(tx, payload)]

        (job_id,) = call.once(tx, make)
    return ScheduledJob(name=name, job_id=job_id)


@SCHEDULES.deed("pause", Route("POST", "/schedules/{name}/pause"), events=("schedule.paused",), ledger_audits=True)
def pause_schedule(call: Call, name: Name) -> ScheduleView:
    """Let a schedule enqueue nothing until it is resumed."""
    with call.writing() as tx:
        return ScheduleView.model_validate(schedules.pause(tx, call.org, name, by=call.origin))


@SCHEDULES.deed("resume", Route("POST", "/schedules/{name}/resume"), events=("schedule.resumed",), ledger_audits=True)
def resume_schedule(call: Call, name: Name) -> ScheduleView:
    """Let a schedule go on with its next due time; what lay in the pause is not made up for."""
    with call.writing() as tx:
        return ScheduleView.model_validate(schedules.resume(tx, call.org, name, by=call.origin))


@SCHEDULES.deed("remove", Route("DELETE", "/schedules/{name}"), events=("schedule.removed",), ledger_audits=True)
def remove_schedule(call: Call, name: Name) -> ScheduleView:
    """Forget a schedule; the jobs that it enqueued stay."""
    with call.writing() as tx:
        return ScheduleView.model_validate(schedules.remove(tx, call.org, name, by=call.origin))
