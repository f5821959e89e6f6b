"""What the HTTP entry point answers with."""

from datetime import datetime
from uuid import UUID

from pydantic import BaseModel, Field

from domain.jobs.job import ActorType, JsonObject, State
from domain.jobs.queues import Queue


class EnqueuedJob(BaseModel):
    """What became of a request to enqueue."""

    job_id: UUID = Field(description="The job's id, or the id of the job that was there first.")
    job_type: str = Field(description="The job type's own name, whatever alias was asked for.")
    created: bool = Field(description="False when the job was there already: see `replayed`.")
    replayed: bool = Field(
        description="True when an earlier request with the same `Idempotency-Key` made the job. When false, and"
        " `created` is too, the job type is unique and has a job of the same kind already."
    )


class JobLine(BaseModel):
    """One job in a list."""

    job_id: UUID
    job_type: str
    queue: Queue
    state: State
    priority: int
    attempt: int
    max_attempts: int
    created_at: datetime
    run_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    reason: str | None = Field(description="Its error, or why it was canceled.")


class JobPage(BaseModel):
    """A part of a list, the newest job first."""

    jobs: list[JobLine]
    next_cursor: str | None = Field(description="Give it as `cursor` for the next part; null at the end.")


class JobView(BaseModel):
    """Everything that an org may know of one of its jobs; what looks like a secret is taken out."""

    job_id: UUID
    job_type: str
    queue: Queue
    state: State
    priority: int
    payload: JsonObject | None
    payload_version: int
    attempt: int
    max_attempts: int
    project_id: UUID | None
    parent_id: UUID | None
    replay_of: UUID | None = Field(description="The job that this one does again.")
    actor_type: ActorType
    actor_id: str
    request_id: str
    correlation_id: str
    created_at: datetime
    run_at: datetime
    expires_at: datetime | None
    started_at: datetime | None
    finished_at: datetime | None
    cancel_requested_at: datetime | None
    cancel_reason: str | None
    progress: JsonObject | None
    output: JsonObject | None
    error: JsonObject | None
    left_out: list[str] = Field(description="Fields that are null because they are larger than an answer may carry.")


class CanceledJob(BaseModel):
    """What a request to cancel did."""

    job_id: UUID
    state: State = Field(description="`canceled` for a job that waited; a running one stops at its next step.")


class RetriedJob(BaseModel):
    """The new job that does an ended one again."""

    job_id: UUID
    replay_of: UUID
