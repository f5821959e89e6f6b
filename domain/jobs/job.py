"""The job: its states, what a claimed one carries, and the outcomes that a handler may return.

What is made for every single job is a named tuple: a frozen dataclass takes six times as long to make.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple
from uuid import UUID

SYSTEM_ORG = UUID("00000000-0000-7000-8000-000000000000")
"""Owns fleet-wide housekeeping; no tenant's data belongs to it."""

JsonObject = dict[str, Any]


class State(StrEnum):
    """Where a job stands; `domain.jobs.lifecycle` holds the allowed moves."""

    QUEUED = "queued"
    CLAIMED = "claimed"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    DEAD = "dead"
    CANCELED = "canceled"

    @property
    def final(self) -> bool:
        """Whether a job stays there for good."""
        return self in FINAL


FINAL = frozenset({State.SUCCEEDED, State.FAILED, State.DEAD, State.CANCELED})


class ActorType(StrEnum):
    """Who caused a job."""

    USER = "user"
    SYSTEM = "system"
    API_KEY = "api_key"


class Origin(NamedTuple):
    """Who asked, and in which request; children inherit it."""

    actor_type: ActorType = ActorType.SYSTEM
    actor_id: str = "postroom"
    request_id: str | None = None
    correlation_id: str | None = None
    traceparent: str | None = None


class KeysOf(StrEnum):
    """Whose key space the key of a job is of; a named key of neither is in the space of all callers who name one."""

    CLIENT = "client"
    """What is derived for a client's job: the fleet folds nothing into it."""
    FLEET = "fleet"
    """What the fleet names for a job that it owes: no client can name the same."""


class NewJob(NamedTuple):
    """A job to be enqueued; the ledger fills in what is None, `max_attempts` and times of retries from the job type."""

    job_type: str
    org_id: UUID
    payload: JsonObject
    payload_version: int | None = None
    job_id: UUID | None = None
    project_id: UUID | None = None
    origin: Origin = Origin()
    idempotency_key: str | None = None
    run_at: datetime | None = None
    expires_at: datetime | None = None
    priority: int = 0
    max_attempts: int | None = None
    retry_base_s: int | None = None
    """Seconds before the first retry."""
    retry_cap_s: int | None = None
    """Seconds between two attempts, at most."""
    parent_id: UUID | None = None
    replay_of: UUID | None = None
    created_at: datetime | None = None
    folds: bool = False
    """Whether a job of the type that has the key will do, whatever its payload; else it must be for the same."""
    keys_of: KeysOf | None = None
    """Who asks for it, where its key must be apart from those of others."""
    is_checked: bool = False
    """Whether the class of this version has checked the payload and written it; else the ledger checks its shape."""


class Hint(NamedTuple):
    """What a broker message says: look at this job. Everything else is in the ledger."""

    job_id: UUID
    job_type: str
    queue: str


class Enqueued(NamedTuple):
    """What an enqueue did: made a job, or found the one that has the key."""

    hint: Hint
    created: bool
    publish: bool

    @property
    def job_id(self) -> UUID:
        """The new job's id, or the id of the job that was there first."""
        return self.hint.job_id


class ClaimedJob(NamedTuple):
    """A job in the hands of one worker process; every write it causes names `job_id` and `token`."""

    token: UUID
    origin: Origin
    job_id: UUID
    job_type: str
    queue: str
    org_id: UUID
    project_id: UUID | None
    payload: JsonObject
    payload_version: int
    attempt: int
    max_attempts: int
    losses: int
    deadline: timedelta
    created_at: datetime
    started: bool = False
    """Whether the ledger has the start of this attempt already, as of a suspect, which begins with its claim."""
    suspect: bool = False
    """Whether an earlier process died with the job in hand, perhaps by it: the job runs alone in its worker."""
    returns: int = 0
    """How often the job went back without having spent an attempt."""
    retry_base_s: int | None = None
    retry_cap_s: int | None = None
    """As the job's caller said; None is what the type's retry policy says."""

    def child(self, new: NewJob) -> NewJob:
        """The same new job, as a child: it inherits org, actor, request, correlation and trace."""
        return new._replace(
            org_id=self.org_id,
            project_id=new.project_id or self.project_id,
            origin=self.origin,
            parent_id=self.job_id,
            created_at=None,
        )


Writes = Callable[[Any], JsonObject | None]
"""Writes domain rows in the transaction that settles the job (a `Transaction` of the storage).

Returns what only the transaction can add to the job's output.
"""


@dataclass(frozen=True, slots=True)
class Done:
    """The job did its work. `output` is kept with the job; `children` are enqueued with the settlement.

    `writes` gets the transaction of the settlement, after the handler has returned and in the same process. Its rows,
    the children and the settlement commit together, or none of them does. What it raises counts as if the handler had
    raised it. It is called once; what it returns is added to `output`. Without `writes` the settlement, with the
    children, shares its statement with those of other jobs.
    """

    output: JsonObject = field(default_factory=dict)
    children: tuple[NewJob, ...] = ()
    writes: Writes | None = None


@dataclass(frozen=True, slots=True)
class Snooze:
    """Look at the job again at `until`, by `ctx.now()`; it holds no slot meanwhile and spends no attempt.

    At least a second passes. From the thousandth snooze of a job on, each spends an attempt (`domain.jobs.lifecycle`).
    """

    until: datetime
    reason: str


@dataclass(frozen=True, slots=True)
class Cancel:
    """The job has become pointless."""

    reason: str


Outcome = Done | Snooze | Cancel
