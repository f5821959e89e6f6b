"""Jobs as an operator looks at them: lists, and the timeline of one."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from domain.jobs.job import JsonObject
from storage.postgres.database import Transaction


@dataclass(frozen=True, slots=True)
class JobLine:
    """One job in a list; `reason` is its error, or why it was canceled."""

    job_id: UUID
    job_type: str
    queue: str
    state: str
    org_id: UUID
    attempt: int
    max_attempts: int
    priority: int
    created_at: datetime
    run_at: datetime
    finished_at: datetime | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class JobTimeline:
    """Everything that the ledger knows of one job; `job` is None when its row is past its retention."""

    job: JsonObject | None
    events: list[JsonObject]
    steps: list[JsonObject]
    effects: list[JsonObject]
    children: list[JsonObject]
    dead_letter: JsonObject | None


@dataclass(frozen=True, slots=True)
class RefusedMessage:
    """A message that could not become a job; its content is not kept."""

    at: datetime
    task: str
    task_id: str
    field: str
    reason: str


@dataclass(frozen=True, slots=True)
class JobFilter:
    """Which jobs to list; what is None or empty does not narrow the list."""

    states: Sequence[str] = ()
    job_type: str | None = None
    queue: str | None = None
    org_id: UUID | None = None


def listed(tx: Transaction, wanted: JobFilter, *, limit: int) -> tuple[JobLine, ...]:
    """Jobs, the newest first."""
    rows = tx.run(
        "list_jobs",
        states=list(wanted.states) or None,
        job_type=wanted.job_type,
        queue=wanted.queue,
        org_id=wanted.org_id,
        limit=limit,
    )
    return tuple(JobLine(**row._asdict()) for row in rows)


def timeline(tx: Transaction, job_id: UUID) -> JobTimeline | None:
    """One job with its timeline, steps, effects, children and dead letter; None when nothing is known of it."""
    found = JobTimeline(**tx.run("show_job", job_id=job_id)[0]._asdict())
    return found if found.job or found.events or found.dead_letter else None


def refused(tx: Transaction, *, limit: int) -> tuple[RefusedMessage, ...]:
    """Messages that could not become jobs, the newest first."""
    return tuple(RefusedMessage(*row) for row in tx.run("list_refused_messages", limit=limit))


def exists(tx: Transaction, job_id: UUID) -> bool:
    """Whether the ledger has a job of that id; false when its row is past its retention."""
    return bool(tx.raw("select 1 from jobs where id = %(job)s", {"job": job_id}))
