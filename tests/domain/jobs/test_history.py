"""What the history keeps of counted events is what the metrics show, and charts of it are bounded."""

from bisect import bisect_left
from datetime import UTC, datetime, timedelta
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.failures import Invalid
from domain.jobs.monitoring.counting import SUM, Counted, totals_of
from domain.jobs.monitoring.history import (
    FIELDS,
    LENGTHS,
    MOST_POINTS,
    Step,
    floor,
    history_rows,
    percentile,
    points,
    step_of,
)
from domain.jobs.monitoring.metrics import DURATION, SECONDS
from tests.domain.jobs.test_counting import GROUPS

NOW = datetime(2026, 11, 29, 20, 30, 17, tzinfo=UTC)


@given(st.lists(GROUPS))
def test_the_history_is_what_the_metrics_count(groups: list[Counted]) -> None:
    rows, totals = history_rows(groups), totals_of(groups, [])
    for metric, field in FIELDS.items():
        total = sum(number for series, number in totals.items() if series.metric == metric.name)
        assert sum(row[field] for row in rows) == total
    durations = {series: number for series, number in totals.items() if series.metric == DURATION.name}
    assert sum(sum(row["histogram"]) for row in rows) == sum(n for s, n in durations.items() if s.label != SUM)
    assert sum(row["seconds"] for row in rows) == pytest.approx(sum(n for s, n in durations.items() if s.label == SUM))
    keys = [(row["since"], row["job_type"], row["queue"]) for row in rows]
    assert len(set(keys)) == len(keys)


@given(st.lists(st.floats(0.001, 3500), min_size=1, max_size=50), st.sampled_from([0.5, 0.95, 0.99, 1.0]))
def test_a_percentile_is_the_bound_of_its_bucket(ran: list[float], share: float) -> None:
    histogram = [0] * (len(SECONDS) + 1)
    for seconds in ran:
        histogram[bisect_left(SECONDS, seconds)] += 1
    found = percentile(histogram, share)
    exact = next(one for one, n in zip(sorted(ran), accumulate([1] * len(ran)), strict=True) if n >= share * len(ran))
    assert found == SECONDS[bisect_left(SECONDS, exact)]


def test_a_percentile_of_nothing_is_none() -> None:
    assert percentile([], 0.5) is None
    assert percentile([0] * 17, 0.5) is None
    assert percentile([0] * 16 + [1], 0.5) == SECONDS[-1]


@given(
    st.timedeltas(timedelta(0), timedelta(days=500)),
    st.timedeltas(timedelta(minutes=1), timedelta(days=500)),
    st.none() | st.sampled_from(Step),
    st.integers(1, 7),
)
def test_a_chart_has_a_bounded_number_of_points(
    age: timedelta, length: timedelta, asked: Step | None, series: int
) -> None:
    since = NOW - age
    try:
        step = step_of(since, since + length, NOW, asked, series=series)
    except Invalid as refusal:
        assert refusal.field in {"step", "since"}  # noqa: PT017 - either is right
        assert asked is not None or length > timedelta(days=MOST_POINTS // series - 1)
        return
    assert asked in {None, step}
    assert points(since, since + length, step) * series <= MOST_POINTS
    assert floor(since, step) <= since < floor(since, step) + LENGTHS[step]
    assert step is not Step.MINUTE or age <= timedelta(days=3)
    assert step in {Step.HOUR, Step.DAY} or age <= timedelta(days=35)


def test_a_range_that_ends_before_it_begins_is_refused() -> None:
    with pytest.raises(Invalid, match="before: is not after since"):
        step_of(NOW, NOW, NOW, None)
