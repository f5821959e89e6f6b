"""Work for many orgs: done together, and org by org where somebody has locked a row of one org."""

import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
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

SMALL_SHARE = 0.01
"""Up to which part of a turn an item is small."""

T = TypeVar("T")


@dataclass(frozen=True)
class PutOff(Generic[T]):
    """What was not done: for want of time, of orgs that were not found locked, and as somebody has locked its org."""

    untried: Sequence[T]
    locked: Sequence[T]

    @property
    def all(self) -> list[T]:
        """Both, in the order of a next try."""
        return [*self.untried, *self.locked]


def together_or_apart(
    items: Sequence[T],
    org_of: Callable[[T], Hashable],
    do: Callable[[Sequence[T]], object],
    *,
    within_s: float = WITHIN_S,
) -> PutOff[T]:
    """Do all items; returns those that were put off, as somebody has locked what they need or what comes before them.

    `do` is a transaction. Where it raises `StatementAborted`, each org's items are done by themselves, and at last each
    item of an org that is locked, until all are decided or the time is over. Any other failure is raised.
    """
    tries = _Tries(items, org_of, do)
    tries.run(within_s, time.monotonic)
    return PutOff(tries.untried(), tries.put_off())


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
        tries, before = _Tries(items, self.org_of, self.do, self.refuse), len(self._resting)
        try:
            tries.run(WITHIN_S, self._monotonic, at_once=is_retry)
        finally:
            (self._resting if is_retry else self._new).extendleft(reversed(tries.untried()))
            self._resting.extend(tries.put_off())
            self._locked.update(map(self.org_of, tries.put_off()))
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
    """What is to be tried, and what was found locked. The tries go on until something is decided, whatever that takes.

    A lock is waited for, so a batch that waited is done org by org: each org that is locked costs one wait. What is
    refused is so at once, and is looked for by halves.
    """

    def __init__(
        self,
        items: Sequence[T],
        org_of: Callable[[T], Hashable],
        do: Callable[[Sequence[T]], object],
        refuse: Callable[[T, Failure | DatabaseError], T | None] | None = None,
    ) -> None:
        self._org_of, self._do, self._refuse = org_of, do, refuse
        self._todo: deque[Sequence[T]] = deque([items] if items else [])
        self._is_decided = False
        self._searched: set[Hashable] = set()
        """Orgs whose items are tried one by one."""
        self._locked: list[T] = []

    def run(self, within_s: float, monotonic: Callable[[], float], *, at_once: bool = False) -> None:
        """Go on for so long, and until something is decided; search a locked org `at_once`, or after all others."""
        until = monotonic() + within_s
        while self._todo and (not self._is_decided or monotonic() < until):
            parts = self._try(self._todo[0])
            self._todo.popleft()
            if parts and self._is_searched(parts[0][0]) and not at_once and monotonic() < until:
                self._todo.extend(parts)
            else:
                self._todo.extendleft(reversed(parts))

    def untried(self) -> list[T]:
        """What is not decided, of orgs that were not found locked."""
        return [item for item in chain(*self._todo) if not self._is_searched(item)]

    def put_off(self) -> list[T]:
        """What is of orgs that were: first what is not decided."""
        return [item for item in chain(*self._todo) if self._is_searched(item)] + self._locked

    def _is_searched(self, item: T) -> bool:
        return self._org_of(item) in self._searched

    def _try(self, batch: Sequence[T]) -> Sequence[Sequence[T]]:
        """Do these; returns what is to be tried in their place."""
        try:
            self._do(batch)
        except (Failure, DatabaseError) as error:
            is_locked = isinstance(error, StatementAborted)
            if is_away(error) or not (is_locked or self._refuse):
                raise
            if len(batch) > 1:
                half = len(batch) // 2
                return self._apart(batch) if is_locked else [batch[:half], batch[half:]]
            if is_locked or self._refuse is None:
                self._locked += batch
                instead = None
            else:
                instead = self._refuse(batch[0], error)
            self._is_decided = True
            return [] if instead is None else [[instead]]
        self._is_decided = True
        return []

    def _apart(self, batch: Sequence[T]) -> Sequence[Sequence[T]]:
        """The items of each org, or the items where they are of one org."""
        groups: dict[Hashable, list[T]] = {}
        for item in batch:
            groups.setdefault(self._org_of(item), []).append(item)
        if len(groups) > 1:
            return list(groups.values())
        self._searched.update(groups)
        return [[item] for item in batch]
