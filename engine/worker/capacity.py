"""How many jobs a worker claims: as many as can begin soon, so that no slot waits for a job. No I/O, no clock."""

from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple
from uuid import UUID

from domain.jobs.job import ClaimedJob

SOON_S = 0.05
"""A claimed job should begin within this time: much less than the second that a waiting tenant notices, and much more
than a round trip to the database."""

SHORTEST_S = 1e-5
"""The least duration that `hints_wanted` assumes for a job, so that the number of hints stays bounded."""


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
        """The seconds of work in jobs that wait for a slot, if all jobs take equally long and every slot runs one."""
        return self.work_s * ((self.jobs - self.slots) / self.jobs) if self.jobs > self.slots else 0.0

    def plus(self, jobs: int, each_s: float) -> "Capacity":
        """The same worker with `jobs` more jobs of `each_s` seconds each."""
        return Capacity(self.slots, self.jobs + jobs, self.work_s + jobs * each_s)

    def has_room(self, next_s: float) -> bool:
        """Whether another job, of `next_s` seconds, can begin soon.

        The waiting work is divided by the number of slots, because the slots work it off together.
        """
        if self.jobs < self.slots:
            return True
        return self.waiting_s + next_s < self.slots * SOON_S

    def fitting(self, each_s: float, most: int) -> int:
        """How many more jobs of `each_s` seconds can begin soon, at most `most`."""

        def too_many(more: int) -> bool:
            return not self.plus(more, each_s).has_room(each_s)

        return bisect_left(range(most), x=True, key=too_many)

    def hints_wanted(self, waiting: int, each_s: float, most: int) -> int:
        """How many more hints the broker should send for jobs of `each_s` seconds, besides the `waiting` ones.

        The answer covers every free slot and, up to `most`, all jobs that could begin soon.
        """
        free, each_s = self.slots - self.jobs - waiting, max(each_s, SHORTEST_S)
        soon_s = self.slots * SOON_S - self.waiting_s - waiting * each_s
        return max(0, free, min(most, int(soon_s / each_s)))


class HeldJobs:
    """The jobs that a worker has claimed and not settled, with the seconds that each is expected to take."""

    def __init__(self) -> None:
        """Hold nothing."""
        self._held: dict[tuple[int, int], tuple[ClaimedJob, float]] = {}
        """By job id and token as integers, because `UUID.__hash__` is slow: it is written in Python."""
        self.work_s = 0.0

    def __len__(self) -> int:
        """How many."""
        return len(self._held)

    def __iter__(self) -> Iterator[ClaimedJob]:
        """Each, in the order of the claims."""
        return (job for job, _ in self._held.values())

    @property
    def newest(self) -> ClaimedJob:
        """The job that was claimed last; raises `StopIteration` when none is held."""
        return next(reversed(self._held.values()))[0]

    def add(self, job: ClaimedJob, expected_s: float) -> None:
        """Hold a job."""
        self._held[job.job_id.int, job.token.int] = (job, expected_s)
        self.work_s += expected_s

    def find(self, job_id: UUID, token: UUID) -> ClaimedJob | None:
        """The job that is held under this token, or None."""
        found = self._held.get((job_id.int, token.int))
        return found and found[0]

    def remove(self, job_id: UUID, token: UUID) -> ClaimedJob | None:
        """Stop holding a job; returns the job, or None when it was not held."""
        found = self._held.pop((job_id.int, token.int), None)
        if found is None:
            return None
        self.work_s -= found[1]
        return found[0]
