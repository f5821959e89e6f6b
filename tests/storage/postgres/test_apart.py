"""Of a batch for many orgs, what nobody has locked is done; what is locked costs its own org's time."""

from collections.abc import Sequence
from operator import itemgetter
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.jobs.failures import Failure, Invalid
from storage.postgres.apart import LEAST_REST_S, MOST_REST_S, REST_SHARE, WITHIN_S, WaitingWork, together_or_apart
from storage.postgres.execution import DatabaseError, DatabaseUnavailable, RowLocked

ITEMS = 30
"""In a batch; three times as many turns must do: each decides the first at least, or finds what to do instead."""

WAIT_S = 0.1
"""How long a statement waits for a lock."""

LONGEST_TURN_S = WITHIN_S + 4 * WAIT_S
"""The tries that are under way when the time is over go on until the first of 30 items is decided."""


class Item(NamedTuple):
    """Of an org, and whether somebody has locked what it needs, or nobody can do it."""

    org: int
    number: int
    is_locked: bool = False
    is_wrong: bool = False


class Work(WaitingWork[Item]):
    """Keeps what was done, by a clock that only waits for locks move."""

    def __init__(self, wait_s: float = WAIT_S) -> None:
        super().__init__(lambda: self.now)
        self.now, self._wait_s = 0.0, wait_s
        self.done: list[Item] = []
        self.refused: list[Item] = []
        self.tried: list[Item] = []

    def org_of(self, item: Item) -> int:
        return item.org

    def share_of(self, _item: Item) -> float:
        return 1 / ITEMS

    def do(self, items: Sequence[Item]) -> None:
        self.tried += items
        if any(item.is_locked for item in items):
            self.now += self._wait_s
            raise RowLocked("LockNotAvailable")
        if any(item.is_wrong for item in items):
            raise Invalid("item", "is wrong")
        self.done += items

    def refuse(self, item: Item, error: Failure | DatabaseError) -> Item | None:
        assert isinstance(error, Invalid)
        self.refused.append(item)
        return item._replace(is_wrong=False) if item.number % 2 else None

    def rested_turn(self) -> float:
        """Let what rests rest, and take a turn; returns how long the turn took."""
        while not self.is_due and len(self):
            self.now += MOST_REST_S
        began = self.now
        self.turn()
        return self.now - began


batches = st.lists(
    st.builds(Item, st.integers(0, 4), st.integers(0, 999), st.booleans(), st.booleans()),
    unique_by=lambda item: item[:2],
    max_size=ITEMS,
)


@settings(max_examples=30)
@given(batches)
def test_each_item_is_done_or_refused_or_waits_once_and_all_that_nobody_has_locked_is_done(items: list[Item]) -> None:
    work = Work()
    work.add(items)
    for _ in range(3 * ITEMS):
        assert work.rested_turn() < LONGEST_TURN_S
        ends = len(work.done) + sum(not item.number % 2 for item in work.refused)
        assert ends + len(work) == len(items)
    expected = {item[:2] for item in items if not item.is_locked and (item.number % 2 or not item.is_wrong)}
    assert sorted(item[:2] for item in work.done) == sorted(expected)
    assert len(work) == sum(item.is_locked for item in items)


@settings(max_examples=30)
@given(batches)
def test_a_lock_that_costs_the_whole_time_of_a_turn_keeps_no_free_item_for_ever(items: list[Item]) -> None:
    """As a statement that runs into its time-out."""
    work = Work(wait_s=10.0)
    work.add([item._replace(is_wrong=False) for item in items])
    for _ in range(4 * ITEMS):
        work.rested_turn()
    assert len(work) == sum(item.is_locked for item in items)


@given(st.integers(1, 32), st.integers(1, 12), st.sampled_from([1, 2, 3]))
def test_one_org_that_is_locked_keeps_no_other_from_its_turn(orgs: int, of_each: int, step: int) -> None:
    items = [Item(org, n, is_locked=org == 0 and n % step == 0) for org in range(orgs) for n in range(of_each)]
    put_off = together_or_apart(items, itemgetter(0), Work(wait_s=0.0).do)
    assert (list(put_off.untried), set(put_off.locked)) == ([], {item for item in items if item.is_locked})


@given(st.sets(st.integers(0, ITEMS - 1), min_size=1, max_size=8))
def test_what_is_of_other_orgs_waits_for_each_lock_once_or_twice_and_never_rests(locked: set[int]) -> None:
    work = Work()
    work.add([Item(org, 0, is_locked=org in locked) for org in range(ITEMS)])
    for _ in range(ITEMS):
        work.turn()
    assert {item.org for item in work.done} == {*range(ITEMS)} - locked
    assert work.now <= (2 * len(locked) + 1) * WAIT_S


def test_what_comes_of_a_locked_org_rests_with_it_and_what_comes_of_others_does_not() -> None:
    work = Work()
    work.add([Item(0, 0, is_locked=True)])
    work.turn()
    work.tried.clear()
    work.add([Item(0, 1), Item(1, 0)])
    work.turn()
    assert (work.tried, work.is_due) == ([Item(1, 0)], False)
    work.now += max(LEAST_REST_S, REST_SHARE * WAIT_S)
    work.turn()
    assert (Item(0, 1) in work.done, work.resting) == (True, 1)


def test_vain_tries_take_a_fifth_of_the_time_and_less_and_less() -> None:
    work = Work()
    work.add([Item(0, 0, is_locked=True)])
    rests = []
    for _ in range(6):
        work.turn()
        ended = work.now
        while not work.is_due:
            work.now += 0.01
        rests.append(work.now - ended)
    assert min(rests) >= REST_SHARE * WAIT_S
    assert rests == sorted(rests)
    assert rests[-1] == pytest.approx(MOST_REST_S, abs=0.02)


def test_what_was_done_is_done_once_though_the_database_goes_away_meanwhile() -> None:
    class Leaving(Work):
        """PostgreSQL, which goes away before it has done the third item."""

        def do(self, items: Sequence[Item]) -> None:
            if len(items) == 1 and len(self.done) == 2:
                raise DatabaseUnavailable("gone")
            super().do(items)

    work = Leaving()
    work.add([Item(org, 0, is_locked=org == 3) for org in range(4)])
    with pytest.raises(DatabaseUnavailable):
        work.turn()
    assert ([item.org for item in work.done], len(work)) == ([0, 1], 2)


def test_a_batch_in_which_nothing_is_locked_is_one_transaction() -> None:
    calls: list[Sequence[int]] = []
    assert together_or_apart([3, 1, 2], str, calls.append).all == []
    assert together_or_apart([], str, calls.append).all == []
    assert calls == [[3, 1, 2]]


@pytest.mark.parametrize("raised", [DatabaseUnavailable("gone"), Invalid("job_type", "is unknown")])
def test_what_no_lock_is_to_blame_for_is_raised(raised: Failure) -> None:
    def fail(_items: Sequence[int]) -> None:
        raise raised

    with pytest.raises(type(raised)):
        together_or_apart([1, 2], str, fail)
