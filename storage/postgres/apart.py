"""Work for many orgs: done together, and org by org where somebody has locked a row of one org."""

from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import chain
from typing import Generic, TypeVar

from domain.jobs.failures import Failure
from storage.postgres.execution import DatabaseError, StatementAborted, is_away

MOST_OF_ORG = 3
"""Failed tries with the items of one org, once one is decided: each may wait for a lock, which all others wait for."""

MOST = 12
"""Failed tries in all where all orgs wait, in a worker's loop and in a request: about a second of waits."""

MOST_OF_JOB = 1000
"""The same in a job of the fleet, for which nobody waits."""

REFUSAL = 0.1
"""How much of a failed try that counts which did not wait."""

T = TypeVar("T")


def together_or_apart(
    items: Sequence[T],
    org_of: Callable[[T], Hashable],
    do: Callable[[Sequence[T]], object],
    refuse: Callable[[T, Failure | DatabaseError], T | None] | None = None,
    *,
    most: float = MOST,
) -> list[T]:
    """Do all items; returns those that were put off, as somebody has locked what they need, in the order of a next try.

    `do` is a transaction. Where it raises `StatementAborted`, the items are halved, the orgs before the items of one
    org, until the locked ones are alone. `refuse` is called with a single item that fails otherwise, and returns what
    to do instead, if anything; without `refuse`, such a failure is raised. That the database is away is always raised.
    """
    tries = _Tries(items, org_of, most)
    for batch in tries:
        try:
            do(batch)
        except (Failure, DatabaseError) as error:
            is_locked = isinstance(error, StatementAborted)
            if is_away(error) or not (is_locked or refuse):
                raise
            tries.failed(batch, 1 if is_locked else REFUSAL)
            if len(batch) == 1 and refuse and not is_locked:
                tries.replace(refuse(batch[0], error))
        else:
            tries.done(batch)
    return tries.put_off()


class _Tries(Generic[T]):
    """What is to be tried, and what came of the tries so far.

    They go on until one thing is decided, whatever that takes: who calls again with what was put off gets on.
    """

    def __init__(self, items: Sequence[T], org_of: Callable[[T], Hashable], most: float) -> None:
        self._most = most
        self._untried: list[T] = []
        self._locked: list[T] = []
        self._org_of = org_of
        self._todo: deque[Sequence[T]] = deque([items] if items else [])
        self._wasted: defaultdict[Hashable, float] = defaultdict(float)
        self._decided: set[Hashable] = set()

    def __iter__(self) -> Iterator[Sequence[T]]:
        while self._todo:
            batch = self._todo.popleft()
            if self._are_over(batch):
                self._untried += batch
            else:
                yield batch

    def _are_over(self, batch: Sequence[T]) -> bool:
        if not (self._wasted and self._decided):
            return False
        org = self._only(batch)
        is_over = org is not None and org in self._decided and self._wasted[org] >= MOST_OF_ORG
        return is_over or sum(self._wasted.values()) >= self._most

    def done(self, batch: Sequence[T]) -> None:
        if self._wasted:
            self._decided.add(self._only(batch))

    def failed(self, batch: Sequence[T], weight: float) -> None:
        """Try its halves: the orgs are parted before the items of one org."""
        org = self._only(batch)
        self._wasted[org] += weight
        if len(batch) == 1:
            self._decided.add(org)
            self._locked += batch
            return
        groups = self._groups(batch)
        parts = list(groups.values()) if len(groups) > 1 else [[item] for item in batch]
        middle = len(parts) // 2
        self._todo.extendleft([list(chain(*parts[middle:])), list(chain(*parts[:middle]))])

    def replace(self, other: T | None) -> None:
        """Try something else than the item that has just failed alone, or nothing."""
        self._locked.pop()
        if other is not None:
            self._todo.appendleft([other])

    def put_off(self) -> list[T]:
        """What is left: first that of orgs whose turn did not come, and last what was found locked."""
        return sorted(self._untried, key=lambda item: (self._org_of(item),) in self._decided) + self._locked

    def _groups(self, batch: Sequence[T]) -> dict[Hashable, list[T]]:
        groups: dict[Hashable, list[T]] = {}
        for item in batch:
            groups.setdefault((self._org_of(item),), []).append(item)
        return groups

    def _only(self, batch: Sequence[T]) -> Hashable:
        """The org of all items, in a tuple; None where there are several."""
        groups = self._groups(batch)
        return next(iter(groups)) if len(groups) == 1 else None
