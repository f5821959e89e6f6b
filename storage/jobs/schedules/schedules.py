"""Schedules of orgs: added, listed, paused, removed, and fired: jobs and the next due time in one transaction."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from psycopg.types.json import Jsonb

from domain.jobs.failures import Conflict, Forbidden, Invalid
from domain.jobs.job import ActorType, JsonObject, KeysOf, NewJob, Origin
from domain.jobs.scheduling import cron
from domain.jobs.scheduling.cron import Missed, Timetable
from storage.jobs import ledger
from storage.jobs.audit_log import deeds
from storage.postgres.database import Transaction

LONGEST_NAME = 100
"""In characters, as the table's rule has it."""

MOST_KEPT = 500
"""Schedules of an org. All due in one minute are two or three seconds' work of the relay, at 5 ms for each."""

FIRST_ID = UUID(int=0)


@dataclass(frozen=True, slots=True)
class RequestedJob:
    """What a schedule enqueues."""

    job_type: str
    payload: JsonObject
    payload_version: int
    names_schedule: bool = False
    """Whether the payload has a field `schedule_id`, which is this schedule's."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """One schedule; `stopped` says why it does not run though nobody paused it."""

    schedule_id: UUID
    org_id: UUID
    name: str
    owner_id: UUID | None
    """The person whose schedule it is, and who counts as the actor of its jobs; without one it is the org's."""
    job_type: str
    payload: JsonObject
    payload_version: int
    cron: str
    zone: str
    missed: str
    next_run_at: datetime
    last_run_at: datetime | None
    enabled: bool
    stopped: str | None
    created_at: datetime
    created_by: str

    @property
    def timetable(self) -> Timetable:
        """When it is due."""
        return Timetable(self.cron, self.zone, Missed(self.missed))


@dataclass(frozen=True, slots=True)
class DueSchedule:
    """A schedule whose time has come, locked, and the database's time."""

    schedule: Schedule
    now: datetime


def add(  # noqa: PLR0913 - what a schedule consists of
    tx: Transaction,
    org_id: UUID,
    name: str,
    work: RequestedJob,
    timetable: Timetable,
    *,
    owner_id: UUID | None = None,
    by: Origin,
) -> Schedule:
    """Keep a new schedule; raises `Invalid` for one that is never due, `Conflict` when the org has one of that name.

    Raises `Forbidden` above the number that an org may keep; nobody adds another before the transaction ends.
    """
    tx.raw("select pg_advisory_xact_lock(hashtextextended('postroom schedules: ' || %(org)s, 0))", {"org": str(org_id)})
    if tx.run("count_schedules", org_id=org_id)[0].schedules >= MOST_KEPT:
        raise Forbidden(f"an org keeps at most {MOST_KEPT} schedules")
    rows = tx.run(
        "add_schedule",
        org_id=org_id,
        name=name,
        owner_id=owner_id,
        job_type=work.job_type,
        payload=Jsonb(work.payload),
        names_schedule=work.names_schedule,
        payload_version=work.payload_version,
        cron=timetable.expression,
        zone=timetable.zone,
        missed=timetable.missed.value,
        next_run_at=_next(timetable, ledger.read_time(tx)),
        created_by=by.actor_id,
    )
    if not rows:
        raise Conflict(f"there is a schedule {name} already")
    made = Schedule(**rows[0]._asdict())
    _record(tx, "schedule.added", made, by)
    return made


def remove(tx: Transaction, org_id: UUID, name: str, *, by: Origin) -> Schedule:
    """Forget a schedule; its jobs stay. Raises `Gone` when there is none of that name."""
    removed = _one(tx, "remove_schedule", org_id, name)
    _record(tx, "schedule.removed", removed, by)
    return removed


def find(tx: Transaction, org_id: UUID, name: str) -> Schedule:
    """The schedule of that name; raises `Gone` when there is none."""
    return _one(tx, "get_schedule", org_id, name)


def pause(tx: Transaction, org_id: UUID, name: str, *, by: Origin) -> Schedule:
    """Let a schedule enqueue nothing until it is resumed; raises `Gone` when there is none of that name."""
    paused = _one(tx, "pause_schedule", org_id, name)
    _record(tx, "schedule.paused", paused, by)
    return paused


def resume(tx: Transaction, org_id: UUID, name: str, *, by: Origin) -> Schedule:
    """Let a schedule go on with its next due time; what lay in its pause is nobody's. Raises `Gone`."""
    paused = _one(tx, "pause_schedule", org_id, name)
    following = _next(paused.timetable, ledger.read_time(tx))
    rows = tx.run("resume_schedule", schedule_id=paused.schedule_id, next_run_at=following)
    resumed = Schedule(**rows[0]._asdict())
    _record(tx, "schedule.resumed", resumed, by)
    return resumed


def list_due(
    tx: Transaction, *, after: UUID = FIRST_ID, besides: Collection[UUID] = (), limit: int
) -> Sequence[tuple[UUID, UUID]]:
    """Schedules whose time has come, with their orgs, which take turns: those after the given org come first.

    Those of the orgs `besides` are left out. None are due while a gate of the whole fleet is closed.
    """
    rows = tx.run("list_due_schedules", after=after, besides=list(besides), limit=limit)
    return [(row.schedule_id, row.org_id) for row in rows]


def take_due(tx: Transaction, schedule_id: UUID) -> DueSchedule | None:
    """Lock a schedule that is due; None when it is due no more, or somebody else has it locked."""
    rows = tx.run("take_due_schedule", schedule_id=schedule_id)
    if not rows:
        return None
    fields = rows[0]._asdict()
    now = fields.pop("now")
    return DueSchedule(Schedule(**fields), now)


def fire(tx: Transaction, due: DueSchedule, *, hint_timeout: timedelta) -> int:
    """Enqueue a job for each due time and move the schedule on; returns how many jobs are new.

    Raises `Invalid` for a job that the ledger refuses, and nothing is written then.
    """
    schedule = due.schedule
    planned = cron.plan(schedule.timetable, schedule.next_run_at, due.now)
    jobs = [_job(schedule, at) for at in planned.due]
    # The relay, which fires, finds them in the backlog at once.
    answers = ledger.enqueue(tx, jobs, publisher=False, hint_timeout=hint_timeout)
    tx.run(
        "move_schedule",
        schedule_id=schedule.schedule_id,
        last_run_at=planned.due[-1] if planned.due else None,
        next_run_at=planned.next_run_at,
    )
    return sum(answer.created for answer in answers)


def stop(tx: Transaction, schedule: Schedule, reason: str) -> None:
    """Stop a schedule that cannot enqueue its job, unless somebody changed it meanwhile: it must hold up no other."""
    tx.run("stop_schedule", schedule_id=schedule.schedule_id, next_run_at=schedule.next_run_at, reason=reason[:1000])


def _job(schedule: Schedule, at: datetime) -> NewJob:
    by = Origin(actor_id=f"schedule:{schedule.name}")
    if schedule.owner_id is not None:
        by = Origin(ActorType.USER, str(schedule.owner_id), request_id=f"schedule:{schedule.schedule_id}")
    return NewJob(
        schedule.job_type,
        schedule.org_id,
        schedule.payload,
        payload_version=schedule.payload_version,
        origin=by,
        idempotency_key=f"schedule:{schedule.schedule_id}:{at.isoformat()}",
        run_at=at,
        keys_of=KeysOf.FLEET,
        folds=True,  # a tick is one job, although somebody has changed the payload meanwhile
    )


def _next(timetable: Timetable, now: datetime) -> datetime:
    found = cron.next_after(timetable, now)
    if found is None:
        raise Invalid("cron", "is never due")
    return found


def _one(tx: Transaction, statement: str, org_id: UUID, name: str) -> Schedule:
    return Schedule(**tx.one(statement, f"there is no schedule {name}", org_id=org_id, name=name)._asdict())


def _record(tx: Transaction, event: str, schedule: Schedule, by: Origin) -> None:
    facts = {"schedule_id": str(schedule.schedule_id), "name": schedule.name, "cron": schedule.cron}
    owner = {} if schedule.owner_id is None else {"owner_id": str(schedule.owner_id)}
    deeds.record(tx, event, facts | {"zone": schedule.zone} | owner, by=by, org_id=schedule.org_id)
