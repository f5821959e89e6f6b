"""What an event of the audit log adds to which metric."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from itertools import accumulate
from typing import NamedTuple
from uuid import UUID

from domain.jobs.monitoring.metrics import (
    ATTEMPTS,
    CANCELED,
    CLAIMS_LOST,
    COST,
    DEAD_LETTERS,
    DURATION,
    ENQUEUED,
    FAILED,
    RETRIED,
    SPENT_ATTEMPTS,
    STARTED,
    SUCCEEDED,
    VIOLATIONS,
    Metric,
)
from domain.jobs.queues import Queue

UNKNOWN_TYPE = "unknown"
"""The label of every job type that no catalogue has ever published; anybody may invent one."""
OTHER = "other"
"""The label of what comes when there are enough others."""
MOST_LABELS = 100
"""Values that a metric's third label may take: the repository has some 60 codes of failures, and handlers and providers
may bring more."""
SUM = "sum"
"""The label under which a histogram's sum is kept; its other labels are the places of its buckets."""
LOST = frozenset({"lost", "deadline", "poison"})
"""The causes, and the codes of errors, that say that a claim was lost."""


class Counted(NamedTuple):
    """A group of like events of the whole fleet in a minute, or of an org in an hour.

    `since` is when that minute or hour begins. A group of an org has no queue, attempt, label and bucket. `starts` of
    them also record a start; `told`: deaths that also have a `job.failed`. `bucket` is the index of the attempts'
    length among the bounds, None without a start.
    """

    since: datetime
    org_id: UUID | None
    event: str
    job_type: str | None
    queue: str | None
    attempt: int | None
    label: str | None
    told: bool | None
    bucket: int | None
    events: int
    starts: int
    seconds: float
    microcents: int


class MetricSeries(NamedTuple):
    """What a total is kept under; what a metric does not have is empty."""

    metric: str
    job_type: str
    queue: str
    label: str


def totals_of(groups: Iterable[Counted], known: Iterable[MetricSeries]) -> Mapping[MetricSeries, float]:
    """What these events add to the totals; `known` are those that are kept, whose labels are never folded."""
    labels: dict[str, set[str]] = defaultdict(set)
    for series in known:
        labels[series.metric].add(series.label)
    added: dict[MetricSeries, float] = defaultdict(float)
    for group in groups:
        for metric, label, number in adds(group):
            if number:
                series = _series(metric, group, _bounded(label, labels[metric.name]) if _has_label(metric) else label)
                added[series] += number
    return added


def observed(series: Mapping[str, float], bounds: tuple[float, ...]) -> tuple[list[tuple[str, float]], float]:
    """A histogram's buckets, each with those below it and the last without a bound, and its sum; from its labels."""
    places = range(len(bounds) + 1)
    names = [*(f"{bound:g}" for bound in bounds), "+Inf"]
    return list(zip(names, accumulate(series.get(str(place), 0.0) for place in places), strict=True)), series.get(
        SUM, 0
    )


def adds(group: Counted) -> Iterator[tuple[Metric, str, float]]:
    """What a group adds to the metrics: metric, label and number."""
    yield STARTED, "", group.starts
    if group.event in _ADDS:
        yield from _ADDS[group.event](group)


def _succeeded(group: Counted) -> Iterator[tuple[Metric, str, float]]:
    yield SUCCEEDED, "", group.events
    yield from _ended(group)


def _failed(group: Counted) -> Iterator[tuple[Metric, str, float]]:
    code = group.label or UNKNOWN_TYPE
    yield FAILED, code, group.events
    yield from _lost(group, code)
    yield from _ended(group)


def _died(group: Counted) -> Iterator[tuple[Metric, str, float]]:
    yield DEAD_LETTERS, "", group.events
    if not group.told:
        yield from _failed(group)


def _canceled(group: Counted) -> Iterator[tuple[Metric, str, float]]:
    cause = group.label or "canceled"
    yield CANCELED, cause, group.events
    yield from _lost(group, cause)
    yield from _measured(group)
    yield COST, "", group.microcents


def _retried(group: Counted) -> Iterator[tuple[Metric, str, float]]:
    cause = group.label or UNKNOWN_TYPE
    yield RETRIED, cause, group.events
    yield from _lost(group, cause)
    yield from _measured(group)


def _ended(group: Counted) -> Iterator[tuple[Metric, str, float]]:
    place = sum(bound < (group.attempt or 0) for bound in ATTEMPTS)
    yield SPENT_ATTEMPTS, str(place), group.events
    yield SPENT_ATTEMPTS, SUM, (group.attempt or 0) * group.events
    yield COST, "", group.microcents
    yield from _measured(group)


def _measured(group: Counted) -> Iterator[tuple[Metric, str, float]]:
    if group.bucket is not None:
        yield DURATION, str(group.bucket), group.events
    yield DURATION, SUM, group.seconds


def _lost(group: Counted, cause: str) -> Iterator[tuple[Metric, str, float]]:
    if cause in LOST:
        yield CLAIMS_LOST, "deadline" if cause == "deadline" else "lost", group.events


_ADDS: Mapping[str, Callable[[Counted], Iterable[tuple[Metric, str, float]]]] = {
    "job.enqueued": lambda group: [(ENQUEUED, "", group.events)],
    "job.started": lambda group: [(STARTED, "", group.events)],
    "job.succeeded": _succeeded,
    "job.failed": _failed,
    "job.deadlettered": _died,
    "job.canceled": _canceled,
    "job.retried": _retried,
    "invariant.violated": lambda group: [(VIOLATIONS, "", group.events)],
}
"""What each event that is counted adds."""


def _has_label(metric: Metric) -> bool:
    return len(metric.labels) > 2  # noqa: PLR2004 - job type, queue, and the label


def _bounded(label: str, known: set[str]) -> str:
    if label not in known and len(known) >= MOST_LABELS:
        return OTHER
    known.add(label)
    return label


def _series(metric: Metric, group: Counted, label: str) -> MetricSeries:
    """A job of an unknown type was put aside in the queue of the dead letters."""
    queue = (group.queue or Queue.DEADLETTER.value) if "queue" in metric.labels else ""
    return MetricSeries(metric.name, group.job_type or UNKNOWN_TYPE, queue, label)
