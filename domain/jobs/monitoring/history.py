"""What the history of jobs keeps of the counted events: how many a minute, by type, and how long the attempts ran.

A row is a sum over a span of time. What happens is added to a row of each span; the rows of short spans are kept for a
shorter time. A chart reads rows as long as its steps, so that it reads few of them however long its range is.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from domain.instants import written
from domain.jobs.failures import Invalid
from domain.jobs.job import JsonObject
from domain.jobs.monitoring.counting import SUM, UNKNOWN_TYPE, Counted, adds
from domain.jobs.monitoring.metrics import (
    CANCELED,
    CLAIMS_LOST,
    COST,
    DEAD_LETTERS,
    DURATION,
    ENQUEUED,
    FAILED,
    RETRIED,
    SECONDS,
    STARTED,
    SUCCEEDED,
    Metric,
)
from domain.jobs.queues import Queue

KEPT_BY_ORG = timedelta(days=100)
MOST_POINTS = 1_500
"""Of a chart, whatever it is asked for: a screen has no more."""

FIELDS: Mapping[Metric, str] = {
    ENQUEUED: "enqueued",
    STARTED: "started",
    RETRIED: "retried",
    SUCCEEDED: "succeeded",
    FAILED: "failed",
    DEAD_LETTERS: "dead",
    CANCELED: "canceled",
    CLAIMS_LOST: "lost",
    COST: "microcents",
}
"""The column of a row in which each metric is counted."""


class Step(StrEnum):
    """How far apart the points of a chart are."""

    MINUTE = "1m"
    TEN_MINUTES = "10m"
    HOUR = "1h"
    DAY = "1d"


LENGTHS: Mapping[Step, timedelta] = {
    Step.MINUTE: timedelta(minutes=1),
    Step.TEN_MINUTES: timedelta(minutes=10),
    Step.HOUR: timedelta(hours=1),
    Step.DAY: timedelta(days=1),
}
KEPT: Mapping[Step, timedelta] = {
    Step.MINUTE: timedelta(days=3),
    Step.TEN_MINUTES: timedelta(days=35),
    Step.HOUR: timedelta(days=400),
    Step.DAY: timedelta(days=400),
}
"""For how long rows of each span are kept; a range that begins earlier has no such steps."""


def history_rows(groups: Iterable[Counted]) -> Sequence[JsonObject]:
    """What these groups add to the history: a row per time, org, job type and queue, in this order.

    It is by construction what they add to the metrics. The groups are all of one kind: of the fleet by the minute, or
    of orgs by the hour.
    """
    rows: dict[tuple[datetime, str, str, str], JsonObject] = {}
    for group in groups:
        org_id, job_type = str(group.org_id or ""), group.job_type or UNKNOWN_TYPE
        queue = group.queue or Queue.DEADLETTER.value
        for metric, label, number in adds(group):
            if not number or (metric is not DURATION and metric not in FIELDS):
                continue
            row = rows.setdefault((group.since, org_id, job_type, queue), _empty())
            if metric in FIELDS:
                row[FIELDS[metric]] += number
            elif label == SUM:
                row["seconds"] += number
            else:
                row["histogram"][int(label)] += number
    return [
        row | {"since": written(since), "org_id": org_id or None, "job_type": job_type, "queue": queue}
        for (since, org_id, job_type, queue), row in sorted(rows.items(), key=lambda one: one[0])
    ]


def _empty() -> JsonObject:
    return {**dict.fromkeys(FIELDS.values(), 0), "seconds": 0.0, "histogram": [0] * (len(SECONDS) + 1)}


def percentile(histogram: Sequence[int], share: float) -> float | None:
    """Up to how many seconds that share (0 to 1) of the attempts ran; None without an attempt.

    It is the upper bound of the bucket of `jobs_duration_seconds` in which the attempt is, so it is as exact as the
    bucket is wide. Buckets of several rows are added place by place before. The last bucket has no bound of its own,
    and gives the one below: no deadline exceeds an hour.
    """
    wanted, seen = share * sum(histogram), 0
    for place, number in enumerate(histogram):
        seen += number
        if number and seen >= wanted:
            return SECONDS[min(place, len(SECONDS) - 1)]
    return None


def step_of(
    since: datetime, before: datetime, now: datetime, asked: Step | None, *, series: int = 1, finest: Step = Step.MINUTE
) -> Step:
    """The step of a chart of so many series: the one that is asked for, or the shortest that the range has.

    `finest` is the shortest that is kept at all. Raises `Invalid` for a range that ends before it begins, and for a
    step of which the range has not the rows, or has more than `MOST_POINTS`.
    """
    if before <= since:
        raise Invalid("before", "is not after since")
    of_age = next((step for step, age in KEPT.items() if since >= now - age), Step.HOUR)
    order = list(Step)
    kept = order[max(order.index(of_age), order.index(finest)) :]
    numbers = {step: points(since, before, step) * series for step in kept}
    if asked is None:
        fitting = [step for step, number in numbers.items() if number <= MOST_POINTS]
        if fitting:
            return fitting[0]
        raise Invalid("since", f"is so far back that more than {MOST_POINTS} points would be shown")
    if asked not in numbers:
        raise Invalid("step", f"must be {kept[0].value} or longer: nothing shorter is kept")
    if numbers[asked] > MOST_POINTS:
        raise Invalid(
            "step", f"gives {numbers[asked]} points, and at most {MOST_POINTS} are shown: ask for a longer one"
        )
    return asked


def points(since: datetime, before: datetime, step: Step) -> int:
    """How many points a range has."""
    return -((floor(since, step) - before) // LENGTHS[step])


def floor(at: datetime, step: Step) -> datetime:
    """The beginning of the step in which a time lies, in UTC."""
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    return at - (at - epoch) % LENGTHS[step]
