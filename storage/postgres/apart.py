"""Work for many orgs: done together, and org by org where somebody has locked a row of one org."""

import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from itertools import chain
from typing import Generic, TypeVar

from domain.jobs.failures import Failure
from storage.postgres.execution import DatabaseError, StatementAborted, is_away

WITHIN_S = 0.5
"""How long parts are tried where others wait, in a worker's loop and in a request; longer until one is decided."""

WITHIN_S_OF_JOB = 30.0
"""The same in a job of the fleet, for which nobody waits."""

REST_SHARE = 4
"""What was put off rests for four times as long as its tries took: they take a fifth of the loop's time at most."""

LEAST_REST_S, MOST_REST_S = 0.25, 4.0
"""How long it rests besides, twice as long after each vain try: a lock of minutes costs little, and work goes on a few
seconds after the lock has gone."""

LATE_PARTS = 8
"""When the time is over an eighth is tried next, not a half: four vain tries decide the first of a thousand items."""

SMALL_SHARE = 0.01
"""Up to which part of a turn an item is small."""

T = TypeVar("T")


def together_or_apart(
    items: Sequence[T],
    org_of: Callable[[T], Hashable],
    do: Callable[[Sequence[T]], object],
    *,
    within_s: float = WITHIN_S,
) -> list[T]:
    """Do all items; returns those that were put off, as somebody has locked what they need, in the order of a next try.

    `do` is a transaction. Where it raises `StatementAborted`, the items are halved, the orgs before the items of one
    org, until the locked ones are alone or the time is over. Any other failure is raised.
    """
    tries = _Tries(items, org_of, do)
    tries.run(within_s, time.monotonic)
    return tries.left()


class WaitingWork(ABC, Generic[T]):
    """Work that comes to a loop: what was put off rests, with all that comes of its orgs, and is tried by itself."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        """Begin with nothing."""
        self._monotonic = monotonic
        self._new: deque[T] = deque()
        self._resting: deque[T] = deque()
        self._locked: set[Hashable] = set()
        """The orgs of which nothing new is tried."""
        self._rests_until = 0.0
        self._rest_s = LEAST_REST_S

    def __len__(self) -> int:
        """How many items wait."""
        return len(self._new) + len(self._resting)

    @property
    def resting(self) -> int:
        """How many of them rest."""
        return len(self._resting)

    @property
    def is_due(self) -> bool:
        """Whether a turn would find something to do."""
        return bool(self._new) or self._is_rested

    @property
    def _is_rested(self) -> bool:
        return bool(self._resting) and self._monotonic() >= self._rests_until

    @abstractmethod
    def org_of(self, item: T) -> Hashable:
        """Whose time an item that is locked may cost."""

    @abstractmethod
    def do(self, items: Sequence[T]) -> object:
        """Do these in one transaction, as `together_or_apart` does."""

    @abstractmethod
    def refuse(self, item: T, error: Failure | DatabaseError) -> T | None:
        """What to do instead of a single item that failed, and that no lock is to blame for; None for nothing."""

    @abstractmethod
    def share_of(self, item: T) -> float:
        """Which part of a turn an item fills."""

    def add(self, items: Sequence[T]) -> None:
        """Take items; from any thread."""
        self._new.extend(items)

    def put_off(self, items: Sequence[T]) -> None:
        """Let these rest, and not what else comes of their orgs; for `do` and `refuse`, which know them."""
        self._resting.extend(items)

    def turn(self) -> int:
        """Do as much as fills a turn: what has rested, or else what is new; returns how many items were put off.

        Whatever is raised, what was not done is kept.
        """
        began, is_retry, rested_before = self._monotonic(), self._is_rested, bool(self._resting)
        items = self._take(self._resting if is_retry else self._new)
        if is_retry:
            self._locked -= set(map(self.org_of, items))
        elif self._locked:
            self._resting.extend(item for item in items if self.org_of(item) in self._locked)
            items = [item for item in items if self.org_of(item) not in self._locked]
        tries, before, is_over = _Tries(items, self.org_of, self.do, self.refuse), len(self._resting), False
        try:
            tries.run(WITHIN_S, self._monotonic)
            is_over = True
        finally:
            left = tries.left()
            if is_over:
                self._resting.extend(left)
                self._locked.update(map(self.org_of, left))
            else:
                self._new.extendleft(reversed(left))
        if is_retry or not rested_before:
            self._rest(began)
        return len(self._resting) - before

    def _take(self, waiting: deque[T]) -> list[T]:
        """As much as fills a turn; what is large has a turn's room of its own, and what is small passes it by."""
        taken, passed, rooms = list[T](), list[T](), [1.0, 1.0]
        while waiting and rooms[False] > 0.0:
            item = waiting.popleft()
            share = self.share_of(item)
            is_large = share > SMALL_SHARE
            (taken if rooms[is_large] > 0.0 else passed).append(item)
            rooms[is_large] -= share
        waiting.extendleft(reversed(passed))
        return taken

    def _rest(self, began: float) -> None:
        if not self._resting:
            self._rest_s = LEAST_REST_S
            return
        ended = self._monotonic()
        self._rests_until = ended + max(self._rest_s, REST_SHARE * (ended - began))
        self._rest_s = min(2 * self._rest_s, MOST_REST_S)


class _Tries(Generic[T]):
    """What is to be tried, and what came of the tries so far.

    They go on until the first item is decided, whatever that takes: who calls again with what is left comes to each.
    """

    def __init__(
        self,
        items: Sequence[T],
        org_of: Callable[[T], Hashable],
        do: Callable[[Sequence[T]], object],
        refuse: Callable[[T, Failure | DatabaseError], T | None] | None = None,
    ) -> None:
        self._org_of, self._do, self._refuse = org_of, do, refuse
        self._items = items
        self._first: Sequence[T] = items[:1]
        """Until it is decided."""
        self._todo: deque[Sequence[T]] = deque([items] if items else [])
        self._parts: deque[Sequence[T]] = deque()
        """Of orgs in which something is locked; one org is searched after the other, when all others are done."""
        self._searched: set[Hashable] = set()
        self._locked: list[T] = []

    def run(self, within_s: float, monotonic: Callable[[], float]) -> None:
        until = monotonic() + within_s
        while self._todo or self._parts:
            is_over = monotonic() >= until
            if is_over and not self._first:
                break
            searches = bool(self._parts) and (is_over or not self._todo)
            source = self._parts if searches else self._todo
            batch = source[0]
            parts = self._try(batch, is_over=is_over)
            source.popleft()
            if self._first and batch[0] is self._first[0] and (len(batch) == 1 or not parts):
                self._first = ()
            if searches:
                self._searched.add(self._org_of(batch[0]))
            if not searches and len(parts) > 1 and len(set(map(self._org_of, batch))) == 1:
                self._parts.extend(parts)
            else:
                source.extendleft(reversed(parts))

    def left(self) -> list[T]:
        """What is not done, in its order: first that of orgs that were not searched, and last what was found locked."""
        left = [*chain(*self._todo, *self._parts)]
        places = {id(item): place for place, item in enumerate(self._items)} if left else {}
        left.sort(key=lambda item: (self._org_of(item) in self._searched, places.get(id(item), -1)))
        return left + self._locked

    def _try(self, batch: Sequence[T], *, is_over: bool) -> Sequence[Sequence[T]]:
        """Do these; returns what is to be tried in their place."""
        try:
            self._do(batch)
        except (Failure, DatabaseError) as error:
            is_locked = isinstance(error, StatementAborted)
            if is_away(error) or not (is_locked or self._refuse):
                raise
            if len(batch) > 1:
                return self._parted(batch, LATE_PARTS if is_over else 2)
            if is_locked or self._refuse is None:
                self._locked += batch
                return []
            instead = self._refuse(batch[0], error)
            return [] if instead is None else [[instead]]
        return []

    def _parted(self, batch: Sequence[T], into: int) -> Sequence[Sequence[T]]:
        """A first part and the rest; the orgs are parted before the items of one org."""
        groups: dict[Hashable, list[T]] = {}
        for item in batch:
            groups.setdefault(self._org_of(item), []).append(item)
        parts = list(groups.values()) if len(groups) > 1 else [[item] for item in batch]
        first = max(1, len(parts) // into)
        return [list(chain(*parts[:first])), list(chain(*parts[first:]))]
