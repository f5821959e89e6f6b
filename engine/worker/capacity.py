"""How much a worker takes on: what can begin soon, and enough never to wait for the next job. No I/O, no clock."""

from bisect import bisect_left
from typing import NamedTuple
from uuid import UUID

from domain.jobs.job import ClaimedJob

SOON_S = 0.05
"""A claim should begin within this time: short beside the second that a waiting tenant notices, long beside a round
trip."""

MOST_WAITING = 256
"""Ordinary jobs that may wait for a slot in one worker, however short their handlers are: each has a message and a
Celery request, which take far longer than such a handler and are one thread's work."""

SHORTEST_S = 1e-5
"""What a job is taken to last at least when hints are ordered ahead."""


class Capacity(NamedTuple):
    """A worker at one moment: its slots, the jobs it has claimed and not settled, the seconds of work in them."""

    slots: int
    jobs: int
    work_s: float

    @property
    def free_slots(self) -> int:
        """Slots that have no job yet."""
        return max(0, self.slots - self.jobs)

    @property
    def waiting_s(self) -> float:
        """Of the seconds of work, those in jobs that find no slot free: as many jobs run as there are slots."""
        return self.work_s * ((self.jobs - self.slots) / self.jobs) if self.jobs > self.slots else 0.0

    def plus(self, jobs: int, each_s: float) -> "Capacity":
        """The same worker with so many more jobs, of so many seconds each."""
        return Capacity(self.slots, self.jobs + jobs, self.work_s + jobs * each_s)

    def has_room(self, next_s: float, *, light: bool) -> bool:
        """Whether another job, of `next_s` seconds, can begin soon.

        What waits is spread over all slots, for slots become free one after the other.
        """
        if self.jobs < self.slots:
            return True
        return (light or self.jobs < self.slots + MOST_WAITING) and self.waiting_s + next_s < self.slots * SOON_S

    def fitting(self, each_s: float, most: int, *, light: bool) -> int:
        """How many more jobs of `each_s` seconds can begin soon, `most` at the most."""

        def too_many(more: int) -> bool:
            return not self.plus(more, each_s).has_room(each_s, light=light)

        return bisect_left(range(most), x=True, key=too_many)

    def hints_wanted(self, waiting: int, each_s: float, most_light: int, *, light: bool) -> int:
        """How many more hints the broker should send, beside the `waiting` ones, for jobs of `each_s` seconds.

        As many as could begin soon, at least one for each free slot. Of light jobs at most `most_light`, of ordinary
        ones `MOST_WAITING` beyond the free slots.
        """
        free, each_s = self.slots - self.jobs - waiting, max(each_s, SHORTEST_S)
        soon_s = self.slots * SOON_S - self.waiting_s - waiting * each_s
        most = most_light if light else free + MOST_WAITING
        return max(0, free, min(most, int(soon_s / each_s)))


class HeldJobs:
    """The jobs that a worker has claimed and not settled, with the seconds that each is expected to take."""

    def __init__(self) -> None:
        """Hold nothing."""
        self._held: dict[tuple[int, int], tuple[ClaimedJob, float]] = {}
        """By the numbers of job and token, because a UUID computes its hash in Python."""
        self.work_s = 0.0

    def __len__(self) -> int:
        """How many."""
        return len(self._held)

    @property
    def newest(self) -> ClaimedJob:
        """The one that was claimed last; `StopIteration` when there is none."""
        return next(reversed(self._held.values()))[0]

    def add(self, job: ClaimedJob, expected_s: float) -> None:
        """Hold a job."""
        self._held[job.job_id.int, job.token.int] = (job, expected_s)
        self.work_s += expected_s

    def find(self, job_id: UUID, token: UUID) -> ClaimedJob | None:
        """The job that is held under this token; None when there is none."""
        found = self._held.get((job_id.int, token.int))
        return found and found[0]

    def remove(self, job_id: UUID, token: UUID) -> ClaimedJob | None:
        """Hold a job no more; returns it, or None when it was not held."""
        found = self._held.pop((job_id.int, token.int), None)
        if found is None:
            return None
        self.work_s -= found[1]
        return found[0]
