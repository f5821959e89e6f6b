"""The payloads of the Gmail family."""

from typing import Literal
from uuid import UUID

from domain.jobs.uniqueness import while_active, while_queued
from domain.payloads.payload import Payload


class SyncPayload(
    Payload,
    job_type="gmail.sync",
    aliases=("sync", "history.sync.gmail"),
    unique=while_queued("account_id", "force_full"),
    serial_by="account_id",
):
    """Which mailbox, and what made us look; `history_id` is the push's, never a starting point."""

    account_id: UUID
    history_id: int | None = None
    force_full: bool = False
    reason: Literal["push", "fallback", "full", "connected", "admin"] = "admin"


class IngestPayload(
    Payload,
    job_type="gmail.ingest",
    aliases=("ingest.gmail",),
    unique=while_active("account_id", "message_id"),
):
    """One message of one mailbox."""

    account_id: UUID
    message_id: str
    thread_id: str


class SyncLabelsPayload(
    Payload,
    job_type="gmail.sync_labels",
    aliases=("labels.sync.gmail",),
    unique=while_queued("account_id"),
):
    """One mailbox."""

    account_id: UUID


class RenewWatchPayload(Payload, job_type="gmail.renew_watch", unique=while_queued("account_id")):
    """One mailbox."""

    account_id: UUID
