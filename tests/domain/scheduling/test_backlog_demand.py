"""Tickets for backlogs of light jobs: as many as there are jobs, in turns, and never forgotten for long."""

from collections import Counter
from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.scheduling.backlog_demand import (
    COUNTED_AHEAD,
    FLOORS_HOLD_S,
    HAND,
    HANDS,
    Sounding,
    Ticket,
    TicketBook,
    deal,
    hand_size,
)
from domain.scheduling.fairness import AHEAD_S

ANN, BOB, CARL = (Ticket("default", 0, UUID(int=number)) for number in (1, 2, 3))


def give(book: TicketBook, ticket: Ticket, wanted: int, jobs: int, *, now: float = 0.0) -> int:
    """What the relay does for one tenant in a turn, with so many jobs in its backlog."""
    for uncounted, most in book.uncounted({ticket: wanted}).items():
        book.counted({uncounted: min(jobs, most)})
    taken = book.take({ticket: wanted})
    if taken:
        book.given(taken, now)
    return taken.get(ticket, 0)


def test_there_are_as_many_tickets_as_jobs() -> None:
    book = TicketBook()
    assert [give(book, ANN, 10, 25) for _ in range(4)] == [10, 10, 5, 0]


def test_a_long_backlog_is_not_counted_each_time() -> None:
    book = TicketBook()
    assert book.uncounted({ANN: 10}) == {ANN: 10 * COUNTED_AHEAD}
    give(book, ANN, 10, 1000)
    assert not book.uncounted({ANN: 10})
    assert book.uncounted({ANN: 1000}) == {ANN: 1010 * COUNTED_AHEAD}


def test_what_left_the_broker_may_be_given_again_if_its_job_is_still_there() -> None:
    book = TicketBook()
    assert give(book, ANN, 10, 5) == 5
    book.look(1, 0.1)
    assert give(book, ANN, 10, 5) == 0
    book.look(0, 0.2)
    assert give(book, ANN, 10, 5, now=0.2) == 5


def test_tickets_leave_the_broker_in_their_order() -> None:
    book = TicketBook()
    give(book, ANN, 3, 3)
    give(book, BOB, 3, 3)
    book.look(1, 0.1)
    assert (give(book, ANN, 3, 3), give(book, BOB, 3, 3)) == (3, 0)


def test_other_messages_of_the_queue_do_not_keep_lost_tickets_alive() -> None:
    book = TicketBook()
    give(book, ANN, 3, 3)
    book.look(100, AHEAD_S / 2)
    assert give(book, ANN, 3, 3) == 0
    book.look(100, AHEAD_S * 2)
    assert give(book, ANN, 3, 3) == 3


def test_a_backlog_that_shrank_by_itself_is_found_out() -> None:
    book = TicketBook()
    give(book, ANN, 10, 40)
    give(book, ANN, 10, 40)
    book.look(0, 0.1)  # a few were canceled, and the rest is worked off
    assert give(book, ANN, 30, 12) == 12


@given(
    st.lists(st.integers(0, 40), min_size=1, max_size=4),
    st.lists(st.integers(1, 3), min_size=4, max_size=4),
    st.integers(1, 16),
)
def test_every_ticket_is_dealt_once_in_hands_of_bounded_size(counts: list[int], weights: list[int], size: int) -> None:
    tickets = {Ticket("default", 0, UUID(int=number)): count for number, count in enumerate(counts) if count}
    hands = list(deal(tickets, {UUID(int=number): weight for number, weight in enumerate(weights)}, size))
    assert sum((Counter(hand) for hand in hands), Counter()) == tickets
    assert all(0 < sum(hand.values()) <= size for hand in hands)
    assert all(sum(hand.values()) == size for hand in hands[:-1])


def test_tenants_take_turns_by_weight() -> None:
    weights = {ANN.org_id: 1, BOB.org_id: 2, CARL.org_id: 1}
    hands = list(deal({ANN: 8, BOB: 8, CARL: 1}, weights, 4))
    assert hands == [{ANN: 1, BOB: 2, CARL: 1}, {ANN: 2, BOB: 2}, {ANN: 1, BOB: 3}, {BOB: 1, ANN: 3}, {ANN: 1}]


def test_nobody_is_dealt_nothing() -> None:
    assert list(deal({}, {}, 64)) == []


def test_more_tickets_than_jobs_is_nothing_left_and_not_less() -> None:
    """The jobs are claimed, and a message of theirs still counts, because others lie behind it in the queue."""
    book = TicketBook()
    give(book, ANN, 10, 10)
    wanted = {ANN: 10}
    book.counted(dict.fromkeys(book.uncounted(wanted), 4))
    assert book.take(wanted) == {}


@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(0, 30), st.integers(0, 5), st.floats(0, 1)), max_size=30),
)
def test_whatever_is_counted_nobody_gets_more_than_he_wants_or_less_than_nothing(
    turns: list[tuple[int, int, int, float]],
) -> None:
    book, now = TicketBook(), 0.0
    for wanted, jobs, messages, passed in turns:
        now += passed
        book.look(messages, now)
        assert 0 <= give(book, ANN, wanted, jobs, now=now) <= wanted


@pytest.mark.parametrize("wanted", [0, 1])
def test_an_empty_backlog_gives_nothing(wanted: int) -> None:
    assert give(TicketBook(), ANN, wanted, 0) == 0


def test_floors_are_forgotten_before_a_job_below_one_waits_long() -> None:
    sounding, since, begin = Sounding(), datetime(2026, 1, 1, tzinfo=UTC), 100.0
    sounding.learn({ANN: since}, begin)
    assert sounding.floors == {}
    for part in range(1, 10):
        sounding.learn({ANN: since}, begin + FLOORS_HOLD_S * part / 10)
        assert sounding.floors == {ANN: since}
    sounding.learn({BOB: since}, begin + FLOORS_HOLD_S * 9 / 10)
    assert sounding.floors == {ANN: since, BOB: since}
    sounding.learn({ANN: since}, begin + FLOORS_HOLD_S)
    assert sounding.floors == {}


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_messages_get_fuller_only_where_a_window_holds_many_of_them(window: int, larger: int) -> None:
    size = hand_size(window)
    assert size <= hand_size(window + larger) <= HAND
    assert size == hand_size(0) or window // size >= HANDS
