"""Demand for jobs of backlogs: for as many as there are, in turns, and never forgotten for long."""

from collections import Counter
from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.scheduling.backlog_demand import (
    COUNTED_AHEAD,
    CURSORS_HOLD_S,
    LARGEST_MESSAGE,
    MESSAGES_PER_WINDOW,
    BacklogKey,
    ClaimCursors,
    OutstandingDemand,
    interleave,
    message_size,
)
from domain.jobs.scheduling.fairness import AHEAD_S, SMALLEST_WINDOW

ANN, BOB, CARL = (BacklogKey("default", 0, UUID(int=number)) for number in (1, 2, 3))


def give(outstanding: OutstandingDemand, key: BacklogKey, wanted: int, jobs: int, *, now: float = 0.0) -> int:
    """What the relay does for one tenant in a turn, with so many jobs in its backlog."""
    for uncounted, most in outstanding.uncounted({key: wanted}).items():
        outstanding.counted({uncounted: min(jobs, most)})
    taken = outstanding.take({key: wanted})
    if taken:
        outstanding.sent(taken, now)
    return taken.get(key, 0)


def test_demand_is_for_as_many_jobs_as_there_are() -> None:
    outstanding = OutstandingDemand()
    assert [give(outstanding, ANN, 10, 25) for _ in range(4)] == [10, 10, 5, 0]


def test_a_long_backlog_is_not_counted_each_time() -> None:
    outstanding = OutstandingDemand()
    assert outstanding.uncounted({ANN: 10}) == {ANN: 10 * COUNTED_AHEAD}
    give(outstanding, ANN, 10, 1000)
    assert not outstanding.uncounted({ANN: 10})
    assert outstanding.uncounted({ANN: 1000}) == {ANN: 1010 * COUNTED_AHEAD}


def test_what_left_the_broker_may_be_given_again_if_its_job_is_still_there() -> None:
    outstanding = OutstandingDemand()
    assert give(outstanding, ANN, 10, 5) == 5
    outstanding.look(1, 0.1)
    assert give(outstanding, ANN, 10, 5) == 0
    outstanding.look(0, 0.2)
    assert give(outstanding, ANN, 10, 5, now=0.2) == 5


def test_demand_leaves_the_broker_in_its_order() -> None:
    outstanding = OutstandingDemand()
    give(outstanding, ANN, 3, 3)
    give(outstanding, BOB, 3, 3)
    outstanding.look(1, 0.1)
    assert (give(outstanding, ANN, 3, 3), give(outstanding, BOB, 3, 3)) == (3, 0)


def test_other_messages_of_the_queue_do_not_keep_lost_demand_alive() -> None:
    outstanding = OutstandingDemand()
    give(outstanding, ANN, 3, 3)
    outstanding.look(100, AHEAD_S / 2)
    assert give(outstanding, ANN, 3, 3) == 0
    outstanding.look(100, AHEAD_S * 2)
    assert give(outstanding, ANN, 3, 3) == 3


def test_a_backlog_that_shrank_by_itself_is_found_out() -> None:
    outstanding = OutstandingDemand()
    give(outstanding, ANN, 10, 40)
    give(outstanding, ANN, 10, 40)
    outstanding.look(0, 0.1)  # a few were canceled, and the rest is worked off
    assert give(outstanding, ANN, 30, 12) == 12


@given(
    st.lists(st.integers(0, 40), min_size=1, max_size=4),
    st.lists(st.integers(1, 3), min_size=4, max_size=4),
    st.integers(1, 16),
)
def test_all_demand_is_sent_once_in_messages_of_bounded_size(counts: list[int], weights: list[int], size: int) -> None:
    demand = {BacklogKey("default", 0, UUID(int=number)): count for number, count in enumerate(counts) if count}
    parts = list(interleave(demand, {UUID(int=number): weight for number, weight in enumerate(weights)}, size))
    assert sum((Counter(part) for part in parts), Counter()) == demand
    assert all(0 < sum(part.values()) <= size for part in parts)
    assert all(sum(part.values()) == size for part in parts[:-1])


def test_tenants_take_turns_by_weight() -> None:
    weights = {ANN.org_id: 1, BOB.org_id: 2, CARL.org_id: 1}
    parts = list(interleave({ANN: 8, BOB: 8, CARL: 1}, weights, 4))
    assert parts == [{ANN: 1, BOB: 2, CARL: 1}, {ANN: 2, BOB: 2}, {ANN: 1, BOB: 3}, {BOB: 1, ANN: 3}, {ANN: 1}]


def test_nobody_is_dealt_nothing() -> None:
    assert list(interleave({}, {}, 64)) == []


def test_more_demand_than_jobs_leaves_nothing_and_not_less() -> None:
    """The jobs are claimed, and a message of theirs still counts, because others lie behind it in the queue."""
    outstanding = OutstandingDemand()
    give(outstanding, ANN, 10, 10)
    wanted = {ANN: 10}
    outstanding.counted(dict.fromkeys(outstanding.uncounted(wanted), 4))
    assert outstanding.take(wanted) == {}


@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(0, 30), st.integers(0, 5), st.floats(0, 1)), max_size=30),
)
def test_whatever_is_counted_nobody_gets_more_than_he_wants_or_less_than_nothing(
    turns: list[tuple[int, int, int, float]],
) -> None:
    outstanding, now = OutstandingDemand(), 0.0
    for wanted, jobs, messages, passed in turns:
        now += passed
        outstanding.look(messages, now)
        assert 0 <= give(outstanding, ANN, wanted, jobs, now=now) <= wanted


@pytest.mark.parametrize("wanted", [0, 1])
def test_an_empty_backlog_gives_nothing(wanted: int) -> None:
    assert give(OutstandingDemand(), ANN, wanted, 0) == 0


def test_floors_are_forgotten_before_a_job_below_one_waits_long() -> None:
    known, since, begin = ClaimCursors(), datetime(2026, 1, 1, tzinfo=UTC), 100.0
    known.learn({ANN: since}, begin)
    assert known.cursors == {}
    for part in range(1, 10):
        known.learn({ANN: since}, begin + CURSORS_HOLD_S * part / 10)
        assert known.cursors == {ANN: since}
    known.learn({BOB: since}, begin + CURSORS_HOLD_S * 9 / 10)
    assert known.cursors == {ANN: since, BOB: since}
    known.learn({ANN: since}, begin + CURSORS_HOLD_S)
    assert known.cursors == {}


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_messages_get_fuller_only_where_a_window_holds_many_of_them(window: int, larger: int) -> None:
    size = message_size(window)
    assert 1 <= size <= message_size(window + larger) <= LARGEST_MESSAGE
    assert size == 1 or window // size >= MESSAGES_PER_WINDOW


def test_a_message_of_a_small_window_is_for_one_job() -> None:
    assert message_size(SMALLEST_WINDOW) == 1
