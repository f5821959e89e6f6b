"""Children that are born claimed: a worker's free slots, and the jobs that settlements have claimed for them.

A settlement may claim jobs that its own transaction puts in place (`postroom.claim_fresh`): they need no hint, no trip
through the broker and no claim. The ledger loop offers slots that nobody wants, and runs what was claimed.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from uuid import UUID, uuid4

from domain.jobs.job import ClaimedJob
from storage.jobs.answers import Slots
from storage.postgres.database import Transaction

ANSWER_S = 0.005
"""A broker that was asked for messages has brought what it had after this time, which is many times a round trip."""


class Birth:
    """One transaction that may claim jobs, and what it has claimed."""

    def __init__(self, births: "Births") -> None:
        """It has claimed nothing."""
        self._births = births
        self.slots: Slots | None = None
        self.jobs: Sequence[ClaimedJob] = ()

    def take(self, most: int) -> Slots:
        """Slots for jobs that the next statement claims; its token may be in the ledger from now on."""
        self.slots = self._births.take(most)
        return self.slots

    def claimed(self, tx: Transaction, jobs: Sequence[ClaimedJob]) -> None:
        """Note what a statement of the transaction has claimed: it needs no hint."""
        self.jobs = jobs
        claimed = {job.job_id for job in jobs}
        tx.hints[:] = [hint for hint in tx.hints if hint.job_id not in claimed]


class Births:
    """One worker command's. The loop's thread offers slots and takes the jobs; any thread may claim for a slot.

    A process without a loop, such as a child of a prefork pool, has no slots: its jobs' children go by hints.
    """

    def __init__(self, worker_id: UUID, lease: timedelta, monotonic: Callable[[], float] = time.monotonic) -> None:
        """Offer nothing; claims are this worker's."""
        self._worker_id = worker_id
        self._lease = lease
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._queues: Sequence[str] = ()
        self._wake: Callable[[], object] = lambda: None
        self._free = 0
        self._free_since: float | None = None
        """Since when there has been a free slot without a break, and the broker was asked for messages."""
        self.taken = 0
        """Slots for which a statement is under way, or whose jobs the loop does not hold yet."""
        self._jobs: deque[ClaimedJob] = deque()
        self._doubts: deque[UUID] = deque()

    def attach(self, queues: Sequence[str], wake: Callable[[], object]) -> None:
        """Claim jobs of these queues, which the worker serves, and call `wake` when the loop has something to take."""
        self._queues, self._wake = queues, wake

    def offer(self, slots: int) -> None:
        """Note how many slots no job holds and no message here is for; in each turn of the loop, before it asks."""
        with self._lock:
            self._free = max(0, slots - self.taken) if self._queues else 0
            if not self._free:
                self._free_since = None
            elif self._free_since is None:
                self._free_since = self._monotonic()

    def fill(self, slots: int) -> None:
        """Note that a message came for so many slots, until the next offer."""
        with self._lock:
            self._free = max(0, self._free - slots)

    def take(self, most: int) -> Slots:
        """Take at most so many of the slots; each is held until its job is.

        None before the broker has had the time to bring what waits there: that comes first, however fast jobs enqueue
        others (promise P7).
        """
        with self._lock:
            is_silent = self._free_since is not None and self._monotonic() - self._free_since >= ANSWER_S
            taken = min(most, self._free) if is_silent else 0
            self._free -= taken
            self.taken += taken
        return Slots(taken, self._queues if taken else (), self._worker_id, uuid4(), self._lease)

    @contextmanager
    def claiming(self) -> Iterator[Birth]:
        """Around a transaction: after its commit the loop gets what it has claimed, and slots that are left are free.

        Where the commit was not answered, the loop gives back whatever has the token.
        """
        birth, is_committed = Birth(self), False
        try:
            yield birth
            is_committed = True
        finally:
            if birth.slots is not None and birth.slots.most:
                self._end(birth.slots, birth.jobs, is_committed=is_committed)

    def _end(self, slots: Slots, jobs: Sequence[ClaimedJob], *, is_committed: bool) -> None:
        if not is_committed:
            self._doubts.append(slots.token)
            jobs = ()
        self._jobs.extend(jobs)
        with self._lock:
            unused = slots.most - len(jobs)
            self.taken -= unused
            self._free += unused
            if not self._free:  # the broker may bring more, for whoever comes next
                self._free_since = None
        if jobs or not is_committed:
            self._wake()

    def born(self) -> Sequence[ClaimedJob]:
        """The jobs that were claimed since the last call, for the loop to hold."""
        if not self._jobs:
            return ()
        jobs = [self._jobs.popleft() for _ in range(len(self._jobs))]
        with self._lock:
            self.taken -= len(jobs)
        return jobs

    def doubts(self) -> Sequence[UUID]:
        """Tokens of claims that may have been committed without an answer, since the last call."""
        return [self._doubts.popleft() for _ in range(len(self._doubts))]

    @property
    def is_busy(self) -> bool:
        """Whether jobs wait here for the loop."""
        return bool(self._jobs)
