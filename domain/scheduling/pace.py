"""How many jobs a worker process takes on: no more than it can begin soon, and enough never to wait for the next."""

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice

SOON_S = 0.05
"""A claim should begin within this time: short beside the second a waiting tenant notices, long beside a round trip."""

BATCH_S = 0.01
"""How long one batch of light jobs should keep a slot: a tenth of what a person notices, far more than it costs."""

BATCH = 64
"""Light jobs in one batch, at most: what a lost process takes with it is bounded."""

AHEAD = 256
"""Ordinary jobs that may wait for a slot in one process, however quick their handlers are: each has a message and a
Celery request, which take far longer than such a handler and are one thread's work."""

UNSEEN_S = 1.0
"""What a job of a type that was never seen is taken to last: so long that none is claimed before a slot is free."""

INERTIA = 0.8
"""How much of an expectation the next measurement leaves standing: a single odd job changes little."""


@dataclass
class Pace:
    """What each job type has been seen to take, in seconds; a type that was never seen may take long."""

    _expected: dict[str, float] = field(default_factory=dict)

    def expects(self, job_type: str) -> float:
        """Seconds that a job of this type will probably take."""
        return self._expected.get(job_type, UNSEEN_S)

    def learn(self, job_type: str, measured_s: Iterable[float]) -> None:
        """Take measurements in: one far longer than expected counts at once, others change little by little."""
        expected = self._expected.get(job_type)
        for seconds in measured_s:
            if expected is None or seconds > expected * 10:
                expected = seconds
            else:
                expected = expected * INERTIA + seconds * (1 - INERTIA)
        if expected is not None:
            self._expected[job_type] = expected

    def batch(self, job_types: Iterable[str]) -> tuple[int, float]:
        """How many of these jobs, from the first on, should share a slot's next turn, and the seconds of work in them.

        At least one, if there are any.
        """
        spent, count = 0.0, 0
        for job_type in islice(job_types, BATCH):
            longer = spent + self.expects(job_type)
            if count and longer > BATCH_S:
                break
            spent, count = longer, count + 1
        return count, spent


def waiting_s(slots: int, taken: int, load_s: float) -> float:
    """Of the seconds of work in `taken` jobs, those that find no slot free: as many jobs run as there are slots."""
    return load_s * ((taken - slots) / taken) if taken > slots else 0.0


def may_take(slots: int, taken: int, load_s: float, next_s: float, *, light: bool) -> bool:
    """Whether a process with `taken` jobs and `load_s` seconds of work can begin another, of `next_s`, soon.

    What waits is spread over all slots, for slots become free one after the other.
    """
    if taken < slots:
        return True
    return (light or taken < slots + AHEAD) and waiting_s(slots, taken, load_s) + next_s < slots * SOON_S


def fitting(slots: int, taken: int, load_s: float, each_s: float, most: int, *, light: bool) -> int:
    """How many more jobs of `each_s`, of `most`, such a process can begin soon; see `may_take`."""

    def too_many(more: int) -> bool:
        return not may_take(slots, taken + more, load_s + more * each_s, each_s, light=light)

    return bisect_left(range(most), True, key=too_many)  # noqa: FBT003 - what is looked for
