"""How long orphans waited: from the moment their process fell silent until the ledger took them back."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from uuid import UUID

RESCUES = frozenset({"lost", "deadline"})
"""The causes of `job.retried` that tell of a rescue."""


@dataclass(frozen=True, slots=True)
class Step:
    """One event of a job's trail, as the recovery needs it."""

    job_id: UUID
    event: str
    attempt: int
    at: datetime
    worker: UUID | None
    cause: str | None


@dataclass(frozen=True, slots=True)
class Orphan:
    """An attempt whose process fell silent, and how long it took until somebody took the job back."""

    job_id: UUID
    attempt: int
    waited: timedelta
    silent_since: datetime
    trail: Sequence[Step]

    def tell(self) -> list[str]:
        """The job's trail in words, each event by its seconds since the process fell silent."""
        return [
            f"{(step.at - self.silent_since).total_seconds():+.2f} s {step.event} attempt {step.attempt}"
            f"{f' by {step.worker}' if step.worker else ''}{f' ({step.cause})' if step.cause else ''}"
            for step in self.trail
        ]


@dataclass(frozen=True, slots=True)
class Silence:
    """Processes that fell silent: killed, or frozen until they were thawed."""

    at: datetime
    pids: frozenset[int]
    until: datetime | None = None


Silences = Sequence[Silence]


def find_orphans(
    trails: Iterable[Sequence[Step]],
    silences: Silences,
    pids: Mapping[UUID, int],
    begun: Mapping[tuple[UUID, int], Sequence[int]],
) -> list[Orphan]:
    """All attempts that a silence ended.

    An attempt belongs to the process that claimed it (`pids` of the workers' rows) and to the one that began it
    (`begun`, told by the job itself). It is an orphan if either fell silent between its claim and the next event of its
    trail, and that event is no settlement of its own. It waits from the first silence that lasted until then: a process
    that was thawed in time has worked on it again. If none lasted, the lease ended in one of them: the first counts.
    """
    return [orphan for trail in trails for orphan in _of_one_job(trail, silences, pids, begun)]


def _of_one_job(
    trail: Sequence[Step],
    silences: Silences,
    pids: Mapping[UUID, int],
    begun: Mapping[tuple[UUID, int], Sequence[int]],
) -> Iterable[Orphan]:
    told = [step for step in trail if step.event != "job.cancel_requested"]
    for step, following in pairwise(told):
        if step.event not in {"job.claimed", "job.started"} or not _is_rescue(following):
            continue
        owners = {pids.get(step.worker)} if step.worker is not None else set()
        owners |= set(begun.get((step.job_id, step.attempt), ()))
        found = [one for one in silences if step.at <= one.at <= following.at and one.pids & owners]
        lasting = [one for one in found if one.until is None or one.until >= following.at]
        if found:
            since = min(one.at for one in lasting or found)
            yield Orphan(step.job_id, step.attempt, following.at - since, since, trail)


def _is_rescue(step: Step) -> bool:
    if step.event == "job.retried":
        return step.cause in RESCUES
    return step.event in {"job.deadlettered", "job.canceled"} and step.cause in RESCUES | {"poison"}
