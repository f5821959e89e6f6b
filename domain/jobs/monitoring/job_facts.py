"""What the ledger knows of where a job is and of what keeps it there: the values that `why` makes a sentence of."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from domain.jobs.gate_causes import Cause
from domain.jobs.job import State


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedGate:
    """One cause for which a gate is closed; a tenant does not hear what an operator wrote."""

    scope: str
    key: str
    cause: Cause
    until: datetime | None
    closed_at: datetime
    address: str | None = None
    """Of a mailbox's gate."""
    actor: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """The order of those that one gate or one concurrency key has parked, as far as it was counted."""

    others: int
    ahead: int


@dataclass(frozen=True, slots=True)
class KeyHolder:
    """The job that has a concurrency key, and since when."""

    job_id: UUID
    taken_at: datetime


@dataclass(frozen=True, slots=True)
class LastReturn:
    """Why the job came back to its queue the last time; the cause is the audit event's."""

    cause: str | None
    code: str | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class HoldingWorker:
    """The process that has the claim; a tenant hears only until when its lease lasts."""

    hostname: str | None
    pid: int | None
    lease_until: datetime


@dataclass(frozen=True, slots=True)
class LetterFacts:
    """The dead letter of a job."""

    letter_id: UUID
    state: str
    plan: str
    replay_job_id: UUID | None
    resolution: str | None
    resolved_by: str | None


@dataclass(frozen=True, slots=True)
class AwaitingNode:
    """The node of a workflow that waits for the job's end."""

    run_id: UUID
    node: str


@dataclass(frozen=True, slots=True)
class NodeWait:
    """What the workflow that the job began waits for now: a person, an event, or a time."""

    node: str
    event: str | None
    approval_id: UUID | None
    since: datetime | None
    until: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFacts:
    """One job, and what decides when it goes on. Facts that its state makes meaningless are None."""

    now: datetime
    job_id: UUID
    job_type: str
    queue: str
    state: State
    attempt: int = 0
    max_attempts: int = 1
    losses: int = 0
    suspect: bool = False
    run_at: datetime
    expires_at: datetime | None = None
    published_at: datetime | None = None
    next_check_at: datetime | None = None
    backlog_since: datetime | None = None
    parked_by: str | None = None
    claimed_at: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    deadline_at: datetime | None = None
    cancel_requested_at: datetime | None = None
    cancel_reason: str | None = None
    code: str | None = None
    reason: str | None = None
    """Of the job's error."""
    gate: str | None = None
    """The gate that keeps it back, as `parked_by` names it; of a due job also one that it will meet."""
    gates: tuple[ClosedGate, ...] = ()
    line: Line | None = None
    holders: tuple[KeyHolder, ...] | None = None
    ahead: int | None = None
    """Jobs of its org that go before it from the backlog, counted to `MOST_COUNTED` and one more."""
    weight: int | None = None
    weights: int | None = None
    """The weight of its org, and of all that wait beside it; a tenant does not hear of others."""
    returned: LastReturn | None = None
    workers_live: bool = True
    relay_leads: bool = True
    worker: HoldingWorker | None = None
    letter: LetterFacts | None = None
    canceled_by: str | None = None
    awaited_by: AwaitingNode | None = None
    run_goes_on: bool = False
    run_awaits: NodeWait | None = None
