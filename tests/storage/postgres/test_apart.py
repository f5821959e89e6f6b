"""Of a batch for many orgs, what nobody has locked is done; what is locked costs its own org's time."""

from collections.abc import Sequence
from operator import itemgetter
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.failures import Failure, Invalid
from storage.postgres.apart import MOST, together_or_apart
from storage.postgres.execution import DatabaseError, DatabaseUnavailable, RowLocked

ITEMS = 30
"""In a batch; twice as many calls must be enough, for each decides one at least, or finds what to do instead."""


class Item(NamedTuple):
    """Of an org, and whether somebody has locked what it needs, or nobody can do it."""

    org: int
    number: int
    is_locked: bool = False
    is_wrong: bool = False


class Work:
    """Keeps what was done, and how often was waited."""

    def __init__(self) -> None:
        self.done: list[Item] = []
        self.refused: list[Item] = []
        self.waits = 0

    def do(self, items: Sequence[Item]) -> None:
        if any(item.is_locked for item in items):
            self.waits += 1
            raise RowLocked("LockNotAvailable")
        if any(item.is_wrong for item in items):
            raise Invalid("item", "is wrong")
        self.done += items

    def refuse(self, item: Item, error: Failure | DatabaseError) -> Item | None:
        assert isinstance(error, Invalid)
        self.refused.append(item)
        return item._replace(is_wrong=False) if item.number % 2 else None

    def try_all(self, items: Sequence[Item]) -> list[Item]:
        return together_or_apart(items, itemgetter(0), self.do, self.refuse)


batches = st.lists(
    st.builds(Item, st.integers(0, 4), st.integers(0, 999), st.booleans(), st.booleans()),
    unique_by=lambda item: item[:2],
    max_size=ITEMS,
)


@given(batches)
def test_each_item_is_done_or_refused_or_put_off_once(items: list[Item]) -> None:
    work = Work()
    put_off = work.try_all(items)
    given_up = [item for item in work.refused if not item.number % 2]
    ends = [item[:2] for item in (*work.done, *given_up, *put_off)]
    assert sorted(ends) == sorted(item[:2] for item in items)
    assert not any(item.is_locked or item.is_wrong for item in work.done)


@given(batches)
def test_who_tries_again_what_was_put_off_does_all_that_is_not_locked(items: list[Item]) -> None:
    work, put_off = Work(), items
    for _ in range(2 * ITEMS):
        put_off = work.try_all(put_off)
        if all(item.is_locked for item in put_off):
            break
    assert all(item.is_locked for item in put_off)


@given(st.integers(1, 32), st.integers(1, 12), st.sampled_from([1, 2, 3]))
def test_one_org_that_is_locked_keeps_no_other_from_its_turn(orgs: int, of_each: int, step: int) -> None:
    items = [Item(org, n, is_locked=org == 0 and n % step == 0) for org in range(orgs) for n in range(of_each)]
    work = Work()
    put_off = work.try_all(items)
    assert {item.org for item in put_off} == {0}
    assert put_off[-1].is_locked
    assert work.waits <= MOST


def test_a_batch_in_which_nothing_is_locked_is_one_transaction() -> None:
    calls: list[Sequence[int]] = []
    assert together_or_apart([3, 1, 2], str, calls.append) == []
    assert together_or_apart([], str, calls.append) == []
    assert calls == [[3, 1, 2]]


@pytest.mark.parametrize("raised", [DatabaseUnavailable("gone"), Invalid("job_type", "is unknown")])
def test_what_no_lock_is_to_blame_for_is_raised(raised: Failure) -> None:
    def fail(_items: Sequence[int]) -> None:
        raise raised

    with pytest.raises(type(raised)):
        together_or_apart([1, 2], str, fail)
