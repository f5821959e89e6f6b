"""The payloads of the drafts family."""

from uuid import UUID

from domain.jobs.uniqueness import while_queued
from domain.payloads.payload import Payload


class WritePayload(
    Payload,
    job_type="drafts.write",
    aliases=("draft",),
    unique=while_queued("account_id", "thread_id"),
    serial_by="thread_id",
):
    """Which thread, and the message that asked for an answer."""

    account_id: UUID
    thread_id: str
    message_id: str
