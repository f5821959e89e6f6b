"""How much a process takes on: batches that are never empty, never long, and not upset by one odd measurement."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from domain.scheduling.pace import (
    AHEAD,
    BATCH,
    BATCH_S,
    INERTIA,
    SOON_S,
    UNSEEN_S,
    Pace,
    fitting,
    may_take,
    waiting_s,
)

NAMES = ["a", "b", "c", "never seen"]
SECONDS = st.floats(0, 3600, allow_nan=False)
MEASUREMENTS = st.lists(st.tuples(st.sampled_from(NAMES[:-1]), SECONDS), max_size=30)
QUEUES = st.lists(st.sampled_from(NAMES), max_size=3 * BATCH)
ROUNDING = 1 + 1e-9
"""What sums of the same figures in another order may differ by."""
SLOTS, LOADS = st.integers(0, 1000), st.floats(0, 1e6)


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


@pytest.mark.parametrize(
    ("slots", "taken", "load_s", "next_s", "may"),
    [
        (4, 3, 3600.0, 60.0, True),  # a slot is free, however long the others take
        (4, 4, 240.0, 60.0, False),  # the next would begin when a minute is over
        (200, 200, 20.0, 0.1, True),  # half of the slots are free again within 50 ms
        (200, 290, 29.0, 0.1, True),
        (200, 300, 30.0, 0.1, False),
        (4, 500, 500 / 496 * (4 * SOON_S - 0.002), 0.001, True),  # all that wait will have begun soon
        (4, 500, 500 / 496 * 4 * SOON_S, 0.001, False),
        (0, 0, 0.0, 0.0, False),  # a pool without processes
    ],
)
def test_a_slot_that_is_free_or_soon_free_lets_another_in(
    slots: int, taken: int, load_s: float, next_s: float, may: bool
) -> None:
    assert may_take(slots, taken, load_s, next_s, light=True) is may


@pytest.mark.parametrize(("taken", "may"), [(0, True), (3, True), (4 + AHEAD - 1, True), (4 + AHEAD, False)])
def test_of_ordinary_jobs_only_so_many_wait_however_quick_they_are(taken: int, may: bool) -> None:
    assert may_take(4, taken, 0.0, 0.0, light=False) is may
    assert may_take(4, taken, 0.0, 0.0, light=True)


@given(SLOTS, st.integers(0, 2000), LOADS, LOADS, SLOTS, LOADS, st.booleans())
def test_who_has_more_slots_and_less_to_do_may_take_no_less(
    slots: int, taken: int, load: float, next_s: float, more: int, less: float, light: bool
) -> None:
    if may_take(slots, taken, load, next_s, light=light):
        assert may_take(slots + more, taken, min(load, less), next_s, light=light)
        assert may_take(slots, taken, load, next_s, light=True)


@given(SLOTS, st.integers(0, 2000), LOADS)
@example(0, 253, 132626.3028760689)  # once a rounding made more wait than there was
def test_what_waits_is_what_finds_no_slot(slots: int, taken: int, load: float) -> None:
    waits = waiting_s(slots, taken, load)
    assert 0 <= waits <= load
    assert (waits == 0) == (taken <= slots or load == 0 or load * ((taken - slots) / taken) == 0)


@given(MEASUREMENTS, SLOTS, st.lists(st.sampled_from(NAMES), max_size=200), st.booleans())
def test_a_process_takes_no_more_than_its_slots_and_what_begins_soon(
    measurements: list[tuple[str, float]], slots: int, queue: list[str], light: bool
) -> None:
    pace, taken = taught(measurements), 0
    while taken < len(queue) and may_take(
        slots, taken, load(pace, queue[:taken]), pace.expects(queue[taken]), light=light
    ):
        taken += 1
    last = taken - 1
    assert taken <= slots or waiting_s(slots, last, load(pace, queue[:last])) < slots * SOON_S
    assert taken >= min(slots, len(queue))


@given(SLOTS, st.integers(0, 2000), LOADS, st.floats(0, 10), st.integers(0, 300), st.booleans())
def test_as_many_fit_as_may_be_taken_one_after_the_other(
    slots: int, taken: int, load: float, each: float, most: int, light: bool
) -> None:
    count = fitting(slots, taken, load, each, most, light=light)
    may = [may_take(slots, taken + more, load + more * each, each, light=light) for more in range(most)]
    assert may == [True] * count + [False] * (most - count)
