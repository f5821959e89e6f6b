"""The history of jobs and queues: what happened by the minute or the hour, what waits, and what orgs' jobs cost."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, ClassVar
from uuid import UUID

from pydantic import AwareDatetime, Field

from domain.instants import in_utc
from domain.jobs.failures import Invalid
from domain.jobs.monitoring.history import Step, floor, percentile, step_of
from domain.jobs.queues import Queue
from domain.payloads import payload_types
from operations.call import Call
from operations.operation import Area, OperatorsOnly, Record, Route
from operations.pages import Page, Window
from storage.jobs import ledger
from storage.jobs.audit_log import history
from storage.jobs.audit_log.history import Range
from storage.postgres.execution import Row

HISTORY = Area("history", "See what happened to jobs over time, what waits in the queues, and what orgs' jobs cost.")
FLEET = OperatorsOnly("what waits in a queue is of all orgs, and an API key is of one")
BY_DEFAULT = timedelta(hours=1)
OF_ORG_BY_DEFAULT = timedelta(days=1)
MOST_TYPES = 100
MOST_SUMS = 100
MOST_SUMMED = 10_000
"""Hours of an org and a type that are summed, the newest: less than 5,000 pages of the table."""

Since = Annotated[
    AwareDatetime | None, Field(description="From then on, by whole steps; an hour ago by default, of an org a day.")
]
Before = Annotated[AwareDatetime | None, Field(description="Up to then, by whole steps or hours; now by default.")]
StepOf = Annotated[
    Step | None,
    Field(
        description="How far apart the points are; by default the shortest of which there are at most 1,500. Minutes"
        " are kept for 3 days, ten minutes for 35, hours and days for 400; of an org hours for 100."
    ),
]
JobTypes = Annotated[
    list[str] | None, Field(max_length=MOST_TYPES, description="Only these job types, or aliases of theirs.")
]
Queues = Annotated[list[Queue] | None, Field(max_length=len(Queue), description="Only these queues.")]
WIDTH = "It is the bound of the bucket of `jobs_duration_seconds` in which that attempt is. Null without an attempt."


class JobHistoryPoint(Record):
    """What happened to jobs in one step of time; of an org's, starts, retries, losses and percentiles are not kept."""

    plural: ClassVar = "points"
    columns: ClassVar = ("at", "enqueued", "succeeded", "failed", "canceled", "retried", "p50_s", "p95_s", "p99_s")
    at: datetime = Field(description="When the step begins.")
    enqueued: int
    started: int | None = None
    retried: int | None = None
    succeeded: int
    failed: int = Field(description="Ended as `failed` or `dead`.")
    dead: int = Field(description="Of those that failed: became dead letters.")
    canceled: int
    lost: int | None = Field(None, description="Claims that were taken from a worker.")
    seconds: float = Field(description="How long the attempts that ended had run, in all.")
    microcents: int = Field(description="What the jobs that ended have cost, in millionths of a US cent.")
    p50_s: float | None = Field(None, description=f"Half of the attempts ran for so long at most. {WIDTH}")
    p95_s: float | None = Field(None, description=f"The same of 95 in 100. {WIDTH}")
    p99_s: float | None = Field(None, description=f"The same of 99 in 100. {WIDTH}")


class QueueDepth(Record):
    """What waits in one queue; of a span of time the most that was measured in it."""

    plural: ClassVar = "queues"
    at: datetime = Field(description="When the minute or the step begins.")
    queue: Queue
    due: int = Field(description="For the relay to publish.")
    backlog: int = Field(description="Wait for their turn. Of no state more than 50,000 are counted.")
    published: int = Field(description="Wait for a worker.")
    parked: int = Field(description="Wait for a gate or a concurrency key.")
    held: int = Field(description="Claimed or running.")
    slots: int = Field(description="How many jobs its workers run at a time. A worker may serve several queues.")
    oldest_due_s: float = Field(description="For how many seconds the oldest has been due that is not held or parked.")


class OrgHour(Record):
    """What the jobs of one type did for an org in an hour, and what they cost."""

    plural: ClassVar = "hours"
    hour: datetime
    org_id: UUID
    job_type: str
    enqueued: int
    succeeded: int
    failed: int
    dead: int
    canceled: int
    seconds: float
    microcents: int = Field(description="What the jobs that ended have cost, in millionths of a US cent.")


class SummedBy(StrEnum):
    """What the costs of a range are summed by."""

    ORG = "org"
    TYPE = "type"
    DAY = "day"


class SummedCost(Record):
    """What the jobs of one org, of one type or of one day did and cost in a range of time."""

    plural: ClassVar = "sums"
    org_id: UUID | None = Field(description="Null, but for a sum by org.")
    job_type: str | None = Field(description="Null, but for a sum by type.")
    day: datetime | None = Field(description="When the day begins, in UTC. Null, but for a sum by day.")
    enqueued: int
    succeeded: int
    failed: int
    seconds: float = Field(description="How long the attempts had run, in all.")
    microcents: int = Field(description="In millionths of a US cent.")
    reached: datetime | None = Field(description="Older hours were not summed, for there were too many; else null.")


@HISTORY.look("jobs", Route("GET", "/history/jobs"), org="optional")
def list_job_history(
    call: Call,
    *,
    since: Since = None,
    before: Before = None,
    step: StepOf = None,
    job_type: JobTypes = None,
    queue: Queues = None,
) -> Page[JobHistoryPoint]:
    """List how many jobs began and ended, and how long they ran, in each step of a range of time."""
    types = _named(job_type)
    with call.reading() as tx:
        now = ledger.read_time(tx)
        if call.org_id is None:
            shown = _range(since, before, step, now=now)
            rows = history.of_fleet(tx, shown, job_types=types, queues=queue)
            return Page([_point(row) for row in rows], None)
        if queue:
            raise Invalid("queue", "the history of an org is kept by job type")
        shown = _range(since, before, step, now=now, is_of_org=True)
        rows = history.of_org(tx, call.org_id, shown, job_types=types)
        return Page([JobHistoryPoint.model_validate(row) for row in rows], None)


@HISTORY.look("queues", FLEET)
def list_queue_history(
    call: Call, *, since: Since = None, before: Before = None, step: StepOf = None, queue: Queues = None
) -> Page[QueueDepth]:
    """List the most that waited in each queue in the steps of a range of time in which it was measured."""
    queues = queue or list(Queue)
    with call.reading() as tx:
        shown = _range(since, before, step, now=ledger.read_time(tx), series=len(queues))
        return Page([QueueDepth.model_validate(row) for row in history.of_queues(tx, queues, shown)], None)


@HISTORY.look("depths", FLEET)
def list_queue_depths(call: Call) -> Page[QueueDepth]:
    """List what waits in each queue, as it was last measured: `at` is the minute in which that was."""
    with call.reading() as tx:
        rows = tx.run("list_queue_depths", queues=list(Queue))
    return Page([QueueDepth.model_validate(row) for row in rows], None)


@HISTORY.look("costs", Route("GET", "/history/costs"), org="optional")
def list_org_hours(
    call: Call,
    window: Window,
    *,
    since: Annotated[AwareDatetime | None, Field(description="From this hour on; a day ago by default.")] = None,
    before: Before = None,
    job_type: Annotated[str | None, Field(max_length=100, description="Only this job type, or an alias of it.")] = None,
) -> Page[OrgHour]:
    """List what orgs' jobs did and cost by the hour and job type, the newest hour first. Kept for 100 days.

    A job type is asked for together with an org; what a type costs in all orgs is in the history of jobs.
    """
    if job_type and call.org_id is None:
        raise Invalid("job_type", "needs an org")
    types = _named([job_type] if job_type else None)
    with call.reading() as tx:
        now = ledger.read_time(tx)
        first = floor(in_utc(since or now - OF_ORG_BY_DEFAULT), Step.HOUR)
        asked = {"since": first, "before": before or now, "of_org": call.org_id, "of_type": types and types[0]}
        return window.records(tx, "list_org_hours", OrgHour, **asked)


@HISTORY.look("sums", Route("GET", "/history/sums"), org="optional")
def sum_org_hours(
    call: Call,
    *,
    by: Annotated[SummedBy, Field(description="By `org`, `type` or `day`.")] = SummedBy.TYPE,
    since: Annotated[AwareDatetime | None, Field(description="From this hour on; a day ago by default.")] = None,
    before: Before = None,
) -> Page[SummedCost]:
    """Sum what orgs' jobs did and cost by org, by type or by day: the 100 dearest, or the 100 newest days."""
    with call.reading() as tx:
        now = ledger.read_time(tx)
        first = floor(in_utc(since or now - OF_ORG_BY_DEFAULT), Step.HOUR)
        asked = {"since": first, "before": before or now, "of_org": call.org_id, "by": by.value}
        rows = tx.run("sum_org_hours", **asked, most=MOST_SUMMED, limit=MOST_SUMS)
    return Page([SummedCost.model_validate(row) for row in rows], None)


def _named(job_types: Sequence[str] | None) -> list[str] | None:
    """The names of job types, each of which may be an alias. One that is no longer known has a history, too."""
    found = [(one, payload_types.find(one)) for one in job_types or ()]
    return [known.declaration.job_type if known else one for one, known in found] or None


def _range(
    since: datetime | None,
    before: datetime | None,
    step: Step | None,
    *,
    now: datetime,
    series: int = 1,
    is_of_org: bool = False,
) -> Range:
    end = in_utc(before or now)
    start = in_utc(since or end - (OF_ORG_BY_DEFAULT if is_of_org else BY_DEFAULT))
    finest = Step.HOUR if is_of_org else Step.MINUTE
    chosen = step_of(start, end, now, step, series=series, finest=finest)
    return Range(floor(start, chosen), end, chosen)


def _point(row: Row) -> JobHistoryPoint:
    """A row with its percentiles."""
    shares = {"p50_s": 0.5, "p95_s": 0.95, "p99_s": 0.99}
    return JobHistoryPoint.model_validate(
        row._asdict() | {name: percentile(row.histogram, share) for name, share in shares.items()}
    )
