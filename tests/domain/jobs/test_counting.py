"""What each event adds to which metric."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.monitoring.counting import MOST_LABELS, OTHER, Counted, MetricSeries, observed, totals_of
from domain.jobs.monitoring.metrics import ATTEMPTS, METRICS, MetricKind, MetricSource

EVENTS = (
    "job.enqueued",
    "job.started",
    "job.succeeded",
    "job.failed",
    "job.deadlettered",
    "job.canceled",
    "job.retried",
)
MINUTE = datetime(2026, 11, 29, 20, 0, tzinfo=UTC)
GROUPS = st.builds(
    Counted,
    since=st.sampled_from([MINUTE, MINUTE + timedelta(minutes=1)]),
    org_id=st.none(),
    event=st.sampled_from(EVENTS),
    job_type=st.sampled_from(["a.b", None]),
    queue=st.sampled_from(["default", None]),
    attempt=st.integers(0, 100),
    label=st.sampled_from(["invalid", "lost", "snooze", None]),
    told=st.just(value=False),
    bucket=st.none() | st.integers(0, 16),
    events=st.integers(1, 1000),
    starts=st.just(0),
    seconds=st.floats(0, 1000),
    microcents=st.integers(0, 1000),
)


def group(event: str, **given: object) -> Counted:
    fields: dict[str, object] = {"job_type": "a.b", "queue": "default", "attempt": 1, "label": None, "told": False}
    numbers: dict[str, object] = {"bucket": None, "events": 1, "starts": 0, "seconds": 0.0, "microcents": 0}
    return Counted(MINUTE, None, event, **(fields | numbers | given))  # type: ignore[arg-type]  # each has its field's type


def total(added: Mapping[MetricSeries, float], metric: str) -> float:
    return sum(number for series, number in added.items() if series.metric == metric)


@given(st.lists(GROUPS))
def test_each_end_is_counted_once_under_known_names(groups: list[Counted]) -> None:
    added = totals_of(groups, [])
    assert {series.metric for series in added} <= {m.name for m in METRICS if m.source is MetricSource.LOG}
    ends = {
        "jobs_succeeded_total": ("job.succeeded",),
        "jobs_failed_total": ("job.failed", "job.deadlettered"),
        "jobs_canceled_total": ("job.canceled",),
        "jobs_enqueued_total": ("job.enqueued",),
        "jobs_retried_total": ("job.retried",),
        "deadletter_total": ("job.deadlettered",),
    }
    for metric, events in ends.items():
        assert total(added, metric) == sum(one.events for one in groups if one.event in events)
    assert all(number > 0 for number in added.values())


def test_a_death_that_a_failure_tells_of_too_is_one_failure() -> None:
    added = totals_of([group("job.failed", label="bug"), group("job.deadlettered", label="bug", told=True)], [])
    assert added[MetricSeries("jobs_failed_total", "a.b", "default", "bug")] == 1
    assert added[MetricSeries("deadletter_total", "a.b", "default", "")] == 1


def test_a_start_that_its_success_tells_is_counted() -> None:
    added = totals_of([group("job.started", events=2), group("job.succeeded", events=3, starts=3)], [])
    assert added[MetricSeries("jobs_started_total", "a.b", "default", "")] == 5


def test_unknown_types_share_a_label() -> None:
    added = totals_of([group("job.enqueued", job_type=None, queue=None, events=7)], [])
    assert added == {MetricSeries("jobs_enqueued_total", "unknown", "deadletter", ""): 7}


def test_a_label_takes_a_bounded_number_of_values() -> None:
    groups = [group("job.failed", label=f"made.up{number}") for number in range(MOST_LABELS + 5)]
    added = totals_of(groups, [])
    labels = {series.label for series in added if series.metric == "jobs_failed_total"}
    assert len(labels) == MOST_LABELS + 1
    assert added[MetricSeries("jobs_failed_total", "a.b", "default", OTHER)] == 5
    again = totals_of(groups[-5:], added)
    assert {series.label for series in again if series.metric == "jobs_failed_total"} == {OTHER}


def test_a_histogram_holds_every_value_in_its_last_bucket() -> None:
    groups = [group("job.succeeded", attempt=attempt) for attempt in (1, 2, 2, 6, 50)]
    added = totals_of(groups, [])
    places = {series.label: number for series, number in added.items() if series.metric == "jobs_attempts_histogram"}
    buckets, summed = observed(places, ATTEMPTS)
    assert dict(buckets) == {"1": 1, "2": 3, "3": 3, "4": 3, "5": 3, "10": 4, "20": 4, "+Inf": 5}
    assert summed == 61


def test_every_metric_is_named_once_and_counters_end_in_total() -> None:
    names = [metric.name for metric in METRICS]
    assert len(set(names)) == len(names)
    counters = [metric.name for metric in METRICS if metric.kind is MetricKind.COUNTER]
    assert all(name.endswith("_total") for name in counters)
    assert all(metric.bounds for metric in METRICS if metric.kind is MetricKind.HISTOGRAM)
