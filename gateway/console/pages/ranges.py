"""Ranges of time to choose from, and the history of jobs over one as charts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from domain.jobs.failures import Invalid
from domain.jobs.monitoring.history import KEPT_BY_ORG, LENGTHS, Step
from gateway.console.charts import Chart, Kind, Series
from gateway.console.pages import Look
from operations.jobs.history import JobHistoryPoint, QueueDepth, list_job_history, list_queue_history

RANGES: Mapping[str, tuple[timedelta, Step]] = {
    "1h": (timedelta(hours=1), Step.MINUTE),
    "6h": (timedelta(hours=6), Step.TEN_MINUTES),
    "1d": (timedelta(days=1), Step.TEN_MINUTES),
    "7d": (timedelta(days=7), Step.HOUR),
    "35d": (timedelta(days=35), Step.DAY),
    "100d": (timedelta(days=100), Step.DAY),
    "400d": (timedelta(days=400), Step.DAY),
}
"""By name: how long a range is, and how far apart its points are."""
LONGEST_OF_QUEUES = timedelta(days=100)
"""A range of all queues: of a longer one there are more points than are shown."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A range, and those that could be chosen in its place."""

    name: str
    others: Sequence[str]
    since: datetime
    step: Step

    @property
    def length(self) -> timedelta:
        """How long it is."""
        return RANGES[self.name][0]


def chosen(look: Look, *, by_hour: bool = False) -> Chosen:
    """The range that the page's address names; days, where the page is of an org or else of what is kept by the hour.

    Raises `Invalid` for one that the page has not.
    """
    of_org = by_hour or look.frame.org_id is not None
    names = [name for name, (length, _) in RANGES.items() if not of_org or timedelta(days=1) <= length <= KEPT_BY_ORG]
    name = look.asked.get("range", names[0])
    if name not in names:
        raise Invalid("range", f"is one of {', '.join(names)}")
    length, step = RANGES[name]
    return Chosen(name, names, datetime.now(UTC) - length, Step.HOUR if of_org and step is not Step.DAY else step)


def chart_of(
    title: str, kept: Chosen, points: Sequence[JobHistoryPoint], kind: Kind, *series: Series, unit: str = ""
) -> Chart:
    """A chart over the points of a history."""
    step = LENGTHS[kept.step]
    times = [one.at for one in points]
    since, before = (times[0], times[-1] + step) if times else (kept.since, kept.since + kept.length)
    return Chart(title, kind, times, step, series, since, before, unit)


def history_charts(look: Look, kept: Chosen) -> Sequence[Chart]:
    """How jobs ended, and how long they ran; of an org, for which run times are not kept, what they cost."""
    points = look.call(list_job_history, since=kept.since, step=kept.step).items
    ends = chart_of(
        f"Jobs by end, per {IN_WORDS[kept.step]}", kept, points, "bars",
        Series("succeeded", [one.succeeded for one in points], "good"),
        Series("canceled", [one.canceled for one in points], "soft"),
        Series("failed", [one.failed - one.dead for one in points], "warn"),
        Series("dead", [one.dead for one in points], "bad"),
    )  # fmt: skip
    if look.frame.org_id is not None:
        return [ends, cost_chart(kept, points)]
    runs = chart_of(
        "How long attempts ran", kept, points, "line",
        Series("p50", [one.p50_s for one in points], "busy"),
        Series("p95", [one.p95_s for one in points], "warn"),
        Series("p99", [one.p99_s for one in points], "bad"),
        unit=" s",
    )  # fmt: skip
    troubles = chart_of(
        f"Retries and lost claims, per {IN_WORDS[kept.step]}", kept, points, "bars",
        Series("retried", [one.retried for one in points], "warn"),
        Series("lost", [one.lost for one in points], "bad"),
    )  # fmt: skip
    return [ends, runs, troubles, *waiting_charts(look, kept)]


def cost_chart(kept: Chosen, points: Sequence[JobHistoryPoint]) -> Chart:
    """What the jobs have cost."""
    dollars = [one.microcents / 100_000_000 for one in points]
    return chart_of(f"Cost, per {IN_WORDS[kept.step]}", kept, points, "bars", Series("cost", dollars), unit=" $")


def waiting_charts(look: Look, kept: Chosen) -> Sequence[Chart]:
    """How long the oldest due job of each queue has waited; nothing of a range that is too long for it."""
    if kept.length > LONGEST_OF_QUEUES:
        return []
    found = look.call(list_queue_history, since=kept.since, step=kept.step).items
    times = sorted({one.at for one in found})
    step = LENGTHS[kept.step]
    series = [
        Series(name, values)
        for name, values in by_queue(found, times, "oldest_due_s").items()
        if any(value for value in values)
    ]
    return [Chart("Longest wait of a due job", "line", times, step, series, kept.since, kept.since + kept.length, " s")]


def by_queue(
    found: Sequence[QueueDepth], times: Sequence[datetime], *fields: str
) -> Mapping[str, Sequence[float | None]]:
    """By queue: the sum of these fields at each time, None where nothing was measured."""
    sums = {(one.queue.value, one.at): float(sum(getattr(one, name) for name in fields)) for one in found}
    names = dict.fromkeys(one.queue.value for one in found)
    return {name: [sums.get((name, at)) for at in times] for name in names}


IN_WORDS: Mapping[Step, str] = {
    Step.MINUTE: "minute",
    Step.TEN_MINUTES: "ten minutes",
    Step.HOUR: "hour",
    Step.DAY: "day",
}
