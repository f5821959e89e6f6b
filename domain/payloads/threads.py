"""The payloads of the threads family."""

from typing import Literal
from uuid import UUID

from domain.jobs.uniqueness import while_queued
from domain.payloads.payload import Payload


class CleanupPayload(
    Payload,
    job_type="threads.cleanup",
    aliases=("cleanup",),
    unique=while_queued("account_id", "thread_id", "action"),
):
    """Which thread, and why it is looked at."""

    account_id: UUID
    thread_id: str
    action: Literal["done", "check_sent"]
    draft_thread_id: str | None = None
    """Where the draft was last seen, when a person's edit of its subject has moved it to another thread."""
