"""How long jobs of each type take, and how many of them share one turn of a slot."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice

BATCH_S = 0.01
"""How long one batch of short jobs should keep a slot: a tenth of what a person notices, far more than it costs."""

BATCH = 64
"""Jobs in one batch, at most: what a lost process takes with it is bounded."""

UNSEEN_S = 1.0
"""What a job of a type that was never seen is taken to last: so long that none is claimed before a slot is free."""

INERTIA = 0.8
"""How much of an expectation the next measurement leaves standing: a single odd job changes little."""

MIXED_OVER = 256
"""Over about how many claims from a backlog the mix of its job types is averaged: long enough that one long job among
many short ones is still remembered when the next one comes."""

LIGHTEST = 1e-3
"""The weight below which a job type is forgotten: nearly two thousand claims after its last."""


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


@dataclass
class JobMix:
    """Which job types were claimed from a backlog lately: demand does not say what it will bring."""

    _weights: dict[str, float] = field(default_factory=dict)

    def learn(self, claimed: Counter[str]) -> None:
        """Take claims in, by job type; earlier ones weigh less with each, and all together `MIXED_OVER` at most."""
        total = claimed.total()
        kept = (1 - 1 / MIXED_OVER) ** total
        self._weights = {name: weight * kept for name, weight in self._weights.items() if weight * kept > LIGHTEST}
        for name, count in claimed.items():
            self._weights[name] = self._weights.get(name, 0.0) + count / total * MIXED_OVER * (1 - kept)

    def expects(self, pace: Pace) -> float:
        """Seconds that the next job will take on average; as long as one of an unseen type, before the first."""
        total = sum(self._weights.values())
        if not total:
            return UNSEEN_S
        return sum(weight * pace.expects(name) for name, weight in self._weights.items()) / total
