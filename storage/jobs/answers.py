"""What claims and settlements answer, read into jobs that a worker runs and hints that it publishes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from domain.jobs.job import ActorType, ClaimedJob, Hint, Origin
from domain.jobs.scheduling.backlog_demand import BacklogKey, Cursors
from storage.postgres.arrays import array
from storage.postgres.execution import Row

JOB_COLUMNS = ClaimedJob._fields[2:]
"""What a claim says of a job, besides its token and its origin."""

CLAIM_COLUMNS = ("answer", "refused_id", "backlog", "since", *JOB_COLUMNS, *Origin._fields, "called")
"""Of a claim's answer, in the order in which the statement gives them: none is moved."""

JOB_AT = CLAIM_COLUMNS.index(JOB_COLUMNS[0])

PUBLISHED = frozenset({"woken", "child"})
"""What a settlement answers of jobs whose hints the caller publishes."""

SETTLED_JOB = ("what", "settled_id", "settled_type", "settled_queue")
SETTLE_COLUMNS = (*SETTLED_JOB, *JOB_COLUMNS, *Origin._fields)
"""Of a settlement's answer: the job, and what a claim says of one that was claimed at once."""

ACTORS = {kind.value: kind for kind in ActorType}
"""Looked up once per claimed job; the enumeration itself takes ten times as long to answer."""


@dataclass(frozen=True, slots=True)
class ClaimResult:
    """What became of a list of hints."""

    jobs: tuple[ClaimedJob, ...]
    refused: Mapping[UUID, str]
    """Jobs that were queued and not claimed: early, gated, serial, freeing, locked, suspect; or `OVER`, to be ended."""
    cursors: Cursors
    """How far each backlog was claimed, for the next claims of this process."""


@dataclass(frozen=True, slots=True)
class Slots:
    """Free slots of a worker, for which a transaction may claim jobs that it puts in place itself."""

    most: int
    queues: Sequence[str]
    """Those that the worker serves."""
    worker_id: UUID
    token: UUID
    """Of the claims; who loses the answer can still give them back."""
    lease: timedelta

    def as_parameters(self) -> dict[str, object]:
        """For the statements that claim so; a handler's own name no worker, for it is that of the handler's job."""
        return {
            "born_most": self.most,
            "born_queues": array(self.queues),
            "born_token": self.token,
            "born_lease": self.lease,
        }


NO_SLOTS = Slots(0, (), UUID(int=0), UUID(int=0), timedelta())


@dataclass(frozen=True, slots=True)
class Settled:
    """What became of settlements."""

    refused: tuple[UUID, ...]
    """The job of each settlement whose claim was lost, and of which nothing was written."""
    hints: tuple[Hint, ...]
    """Children, and jobs that waited for a concurrency key, to be published."""
    locked: frozenset[UUID] = frozenset()
    """Jobs that somebody else has locked, and of which nothing was written; only when nobody was waited for."""
    born: tuple[ClaimedJob, ...] = ()
    """Children, and jobs that waited, which were claimed at once and need no hint."""


def _claimed(token: UUID, row: Sequence[Any]) -> ClaimedJob:
    """A claimed job by the columns of the job and of its origin."""
    actor_type, *origin = row[len(JOB_COLUMNS) :]
    return ClaimedJob(token, Origin(ACTORS[actor_type], *origin), *row[: len(JOB_COLUMNS)])


def read_claims(rows: Sequence[tuple[Any, ...]], token: UUID, keys: Sequence[BacklogKey]) -> ClaimResult:
    """The answer of claim_jobs: rows of `CLAIM_COLUMNS`."""
    jobs: list[ClaimedJob] = []
    refused: dict[UUID, str] = {}
    cursors: dict[BacklogKey, datetime] = {}
    for row in rows:
        if row[0] == "claimed":
            jobs.append(_claimed(token, row[JOB_AT:-1]))
            continue
        answer, refused_id, backlog, since = row[:JOB_AT]
        if answer == "cursor":
            cursors[keys[backlog - 1]] = since
        else:
            refused[refused_id] = answer
    return ClaimResult(tuple(jobs), refused, cursors)


def read_settlement(slots: Slots, rows: Sequence[Row]) -> Settled:
    """The same of rows by name."""
    return read_settled([tuple(getattr(row, name) for name in SETTLE_COLUMNS) for row in rows], slots)


def read_settled(rows: Sequence[tuple[Any, ...]], slots: Slots) -> Settled:
    """The answer of a settlement: rows of `SETTLE_COLUMNS`."""
    after = len(SETTLED_JOB)
    born = tuple(_claimed(slots.token, row[after:]) for row in rows if row[0] == "born")
    claimed = {job.job_id for job in born}
    return Settled(
        tuple(row[1] for row in rows if row[0] == "refused"),
        tuple(Hint(*row[1:after]) for row in rows if row[0] in PUBLISHED and row[1] not in claimed),
        born=born,
    )
