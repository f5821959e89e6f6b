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


Silences = Sequence[tuple[datetime, frozenset[int]]]


def find_orphans(
    trails: Iterable[Sequence[Step]],
    silences: Silences,
    pids: Mapping[UUID, int],
    begun: Mapping[tuple[UUID, int], Sequence[int]],
) -> list[Orphan]:
    """All attempts that a silence ended.

    An attempt belongs to the process that claimed it (`pids` of the workers' rows) and to the one that began it
    (`begun`, told by the job itself). It is an orphan of the last silence of either that lies between its claim and the
    next event of its trail, if that event is no settlement of its own.
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
        since = [at for at, silenced in silences if step.at <= at <= following.at and silenced & owners]
        if since:
            # The first: from then on nobody worked on it.
            yield Orphan(step.job_id, step.attempt, following.at - min(since))


def _is_rescue(step: Step) -> bool:
    if step.event == "job.retried":
        return step.cause in RESCUES
    return step.event in {"job.deadlettered", "job.canceled"} and step.cause in RESCUES | {"poison"}
