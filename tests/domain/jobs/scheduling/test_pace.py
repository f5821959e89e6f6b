"""How long jobs take: batches are never empty and never long, and one odd measurement changes little."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.scheduling.pace import BATCH, BATCH_S, INERTIA, MIXED_OVER, UNSEEN_S, JobMix, Pace

NAMES = ["a", "b", "c", "never seen"]
SECONDS = st.floats(0, 3600, allow_nan=False)
MEASUREMENTS = st.lists(st.tuples(st.sampled_from(NAMES[:-1]), SECONDS), max_size=30)
QUEUES = st.lists(st.sampled_from(NAMES), max_size=3 * BATCH)
ROUNDING = 1 + 1e-9
"""What sums of the same figures in another order may differ by."""


def taught(measurements: list[tuple[str, float]]) -> Pace:
    pace = Pace()
    for name, seconds in measurements:
        pace.learn(name, [seconds])
    return pace


def load(pace: Pace, queue: list[str]) -> float:
    return sum(pace.expects(name) for name in queue)


@given(MEASUREMENTS, QUEUES)
def test_a_batch_is_not_empty_and_bounded_in_jobs_and_in_time(
    measurements: list[tuple[str, float]], queue: list[str]
) -> None:
    pace = taught(measurements)
    count, seconds = pace.batch(queue)
    assert seconds == load(pace, queue[:count])
    assert min(1, len(queue)) <= count <= min(len(queue), BATCH)
    assert count <= 1 or seconds <= BATCH_S


@given(MEASUREMENTS, QUEUES)
def test_a_batch_takes_all_that_it_may(measurements: list[tuple[str, float]], queue: list[str]) -> None:
    pace = taught(measurements)
    count, _ = pace.batch(queue)
    assert count == min(len(queue), BATCH) or load(pace, queue[: count + 1]) * ROUNDING > BATCH_S


@given(st.integers(1, 2 * BATCH))
def test_a_job_of_a_type_that_was_never_seen_goes_alone(waiting: int) -> None:
    assert Pace().expects("never seen") == UNSEEN_S
    assert Pace().batch(["never seen"] * waiting) == (1, UNSEEN_S)


@given(MEASUREMENTS, st.lists(SECONDS))
def test_many_measurements_count_as_one_after_the_other(
    measurements: list[tuple[str, float]], seconds: list[float]
) -> None:
    together = taught(measurements)
    together.learn("a", seconds)
    assert together == taught(measurements + [("a", one) for one in seconds])


@given(MEASUREMENTS, st.sampled_from(NAMES), SECONDS)
def test_an_expectation_lies_between_the_former_and_the_measurement(
    measurements: list[tuple[str, float]], name: str, seconds: float
) -> None:
    pace = taught(measurements)
    others = {other: pace.expects(other) for other in NAMES if other != name}
    seen = any(known == name for known, _ in measurements)
    before = pace.expects(name) if seen else seconds
    pace.learn(name, [seconds])
    assert min(before, seconds) <= pace.expects(name) * ROUNDING
    assert pace.expects(name) <= max(before, seconds) * ROUNDING
    assert {other: pace.expects(other) for other in others} == others


@given(st.floats(1e-6, 3600), st.floats(0, 10))
def test_one_odd_job_changes_little(usual: float, factor: float) -> None:
    pace = taught([("a", usual), ("a", usual * factor)])
    assert usual * INERTIA <= pace.expects("a") * ROUNDING
    assert pace.expects("a") <= usual * (INERTIA + 10 * (1 - INERTIA)) * ROUNDING


@given(st.floats(1e-6, 100), st.floats(11, 1e4))
def test_a_job_that_takes_far_longer_counts_at_once(usual: float, factor: float) -> None:
    pace = taught([("a", usual)] * 5 + [("a", usual * factor)])
    assert pace.expects("a") == usual * factor


@given(st.floats(0, 100), st.floats(1e-6, 100))
def test_what_was_learnt_once_is_forgotten_in_time(once: float, since: float) -> None:
    pace = taught([("a", once)] + [("a", since)] * 100)
    assert pace.expects("a") == pytest.approx(since, rel=1e-3, abs=1e-6)


def claimed(mix: JobMix, *batches: dict[str, int]) -> JobMix:
    for batch in batches:
        mix.learn(Counter(batch))
    return mix


@given(MEASUREMENTS, st.lists(st.dictionaries(st.sampled_from(NAMES), st.integers(1, 300), max_size=3), max_size=8))
def test_a_mix_expects_no_less_than_its_shortest_and_no_more_than_its_longest_job(
    measurements: list[tuple[str, float]], batches: list[dict[str, int]]
) -> None:
    pace, mix = taught(measurements), claimed(JobMix(), *batches)
    of_types = [pace.expects(name) for batch in batches for name in batch] or [UNSEEN_S]
    assert min(of_types) / ROUNDING <= mix.expects(pace) <= max(of_types) * ROUNDING


def test_what_nothing_was_claimed_from_may_bring_long_jobs() -> None:
    assert JobMix().expects(taught([("a", 0.001)])) == UNSEEN_S


def test_one_long_job_among_many_short_ones_is_remembered_and_at_last_forgotten() -> None:
    pace = taught([("short", 0.001), ("long", 60.0)])
    mix = claimed(JobMix(), {"short": 1000}, {"long": 1}, {"short": 100})
    assert mix.expects(pace) > 0.1
    assert claimed(mix, *[{"short": 100}] * 30).expects(pace) == pytest.approx(0.001)


def test_a_mix_of_one_type_follows_its_pace_at_once() -> None:
    pace, mix = Pace(), claimed(JobMix(), {"a": MIXED_OVER})
    assert mix.expects(pace) == UNSEEN_S
    pace.learn("a", [0.002])
    assert mix.expects(pace) == pytest.approx(0.002)
