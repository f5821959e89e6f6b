"""What one org may hold of the gateway at a time, so that the others find threads, connections and an event loop."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from threading import Lock
from uuid import UUID

from domain.jobs.failures import Busy, Scope, Throttled

MOST_WAITING = 50
"""Requests of an org that wait for a slot. Each holds a connection, of which the process keeps 800."""

PLACE_WITHIN_S = 2.0
"""How long a request waits for a slot. An ordinary one takes milliseconds; what holds its slot for longer waits for a
row that the org itself has locked, or tries rules."""


@dataclass(slots=True)
class _Org:
    slots: asyncio.Semaphore
    requests: int = 0


@dataclass(slots=True)
class RequestPlaces:
    """Places of requests, `each` for an org. Waiting takes neither a thread nor a connection. For one event loop."""

    each: int
    within_s: float = PLACE_WITHIN_S
    _orgs: dict[UUID, _Org] = field(default_factory=dict)

    @property
    def held(self) -> int:
        """How many requests hold a slot, or wait for one."""
        return sum(org.requests for org in self._orgs.values())

    @asynccontextmanager
    async def hold(self, org_id: UUID) -> AsyncIterator[None]:
        """Hold a slot of the org's; raises `Busy` when too many wait for one, or it waited for too long."""
        org = self._orgs.setdefault(org_id, _Org(asyncio.Semaphore(self.each)))
        if org.requests >= self.each + MOST_WAITING:
            raise _busy()
        org.requests += 1
        try:
            await self._acquire(org.slots)
            try:
                yield
            finally:
                org.slots.release()
        finally:
            org.requests -= 1
            if not org.requests:
                del self._orgs[org_id]

    async def _acquire(self, slots: asyncio.Semaphore) -> None:
        try:
            async with asyncio.timeout(self.within_s):
                await slots.acquire()
        except TimeoutError:
            raise _busy() from None


class SharedPlaces:
    """Places for what takes long, so many in all, of which an org may hold `each`; nobody waits. Safe for threads."""

    def __init__(self, in_all: int, each: int, what: str) -> None:
        """Keep the bounds; `what` says who holds the slots."""
        self._in_all, self._each, self._what = in_all, each, what
        self._held = Counter[UUID]()
        self._lock = Lock()

    @contextmanager
    def hold(self, org_id: UUID) -> Iterator[None]:
        """Hold a slot; raises `Throttled` when all are taken, or the org holds its share."""
        with self._lock:
            if self._held.total() >= self._in_all or self._held[org_id] >= self._each:
                raise Throttled(self._what, retry_after=timedelta(seconds=5), scope=Scope.PROVIDER, provider="gateway")
            self._held[org_id] += 1
        try:
            yield
        finally:
            with self._lock:
                self._held[org_id] -= 1
                self._held += Counter()  # leaves out the orgs that hold none


def _busy() -> Busy:
    return Busy("other requests of the org hold its slots", wait=timedelta(seconds=1))
