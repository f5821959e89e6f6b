"""How long orphans waited: from the kill or freeze of their process until their rescue."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from uuid import UUID

RESCUES = frozenset({"lost", "deadline"})
"""The causes of `job.retried` that stand for a rescue."""


@dataclass(frozen=True, slots=True)
class AuditedEvent:
    """One event of a job's audit log."""

    job_id: UUID
    name: str
    attempt: int
    at: datetime
    worker: UUID | None
    cause: str | None


@dataclass(frozen=True, slots=True)
class Orphan:
    """An attempt whose process was killed or frozen, and how long it took until the job was rescued."""

    job_id: UUID
    attempt: int
    waited: timedelta
    silent_since: datetime
    timeline: Sequence[AuditedEvent]

    def as_lines(self) -> list[str]:
        """The job's events, a line each, with the seconds since its process was killed or frozen."""
        return [
            f"{(event.at - self.silent_since).total_seconds():+.2f} s {event.name} attempt {event.attempt}"
            f"{f' by {event.worker}' if event.worker else ''}{f' ({event.cause})' if event.cause else ''}"
            for event in self.timeline
        ]


@dataclass(frozen=True, slots=True)
class Silence:
    """Processes that were killed, or frozen until they were thawed."""

    at: datetime
    pids: frozenset[int]
    until: datetime | None = None


Silences = Sequence[Silence]


def find_orphans(
    timelines: Iterable[Sequence[AuditedEvent]],
    silences: Silences,
    pids: Mapping[UUID, int],
    begun: Mapping[tuple[UUID, int], Sequence[int]],
) -> list[Orphan]:
    """All attempts that ended because their process was killed or frozen.

    An attempt belongs to the process that claimed it (`pids`, from the workers' rows) and to the process that began it
    (`begun`, recorded by the job). It is an orphan if either was silenced between the claim and the next event of the
    job, and that event is a rescue. Its wait counts from the first silence that lasted until the rescue, because a
    process that was thawed in time went on with the attempt. If no silence lasted that long, the lease ended during
    one of them, and the first counts.
    """
    return [orphan for timeline in timelines for orphan in _of_one_job(timeline, silences, pids, begun)]


def _of_one_job(
    timeline: Sequence[AuditedEvent],
    silences: Silences,
    pids: Mapping[UUID, int],
    begun: Mapping[tuple[UUID, int], Sequence[int]],
) -> Iterable[Orphan]:
    relevant = [event for event in timeline if event.name != "job.cancel_requested"]
    for event, following in pairwise(relevant):
        if event.name not in {"job.claimed", "job.started"} or not _is_rescue(following):
            continue
        owners = {pids.get(event.worker)} if event.worker is not None else set()
        owners |= set(begun.get((event.job_id, event.attempt), ()))
        found = [one for one in silences if event.at <= one.at <= following.at and one.pids & owners]
        lasting = [one for one in found if one.until is None or one.until >= following.at]
        if found:
            since = min(one.at for one in lasting or found)
            yield Orphan(event.job_id, event.attempt, following.at - since, since, timeline)


def _is_rescue(event: AuditedEvent) -> bool:
    if event.name == "job.retried":
        return event.cause in RESCUES
    return event.name in {"job.deadlettered", "job.canceled"} and event.cause in RESCUES | {"poison"}
