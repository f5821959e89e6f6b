"""The payloads of the accounts family."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field

from domain.jobs.contract import Instant
from domain.jobs.uniqueness import while_active
from domain.payloads.gmail import SyncPayload
from domain.payloads.other_names import AccountId
from domain.payloads.payload import Payload


class OnboardPayload(
    Payload,
    job_type="accounts.onboard",
    aliases=("email_processing",),
    unique=while_active("account_id", "reopened_at"),
    serial_by="account_id",
):
    """Which mailbox was connected; `result_summary` is what an adopted job had found out (docs: adopt-spec026.md).

    `reopened_at` is when it was connected after a disconnection: what was set up before is set up anew.
    """

    account_id: AccountId
    reopened_at: Annotated[Instant | None, Field(examples=["2026-11-24T09:00:00Z"])] = None
    result_summary: Annotated[dict[str, Any] | None, Field(examples=[{"emails": 3}])] = None


class LearnVoicePayload(
    Payload, job_type="accounts.learn_voice", unique=while_active("account_id"), serial_by="account_id"
):
    """Whose way of writing is to be learned from their sent mail; `again` also if that was done lately."""

    account_id: AccountId
    again: bool = False


def first_jobs(account_id: UUID, reopened_at: datetime | None = None) -> tuple[Payload, ...]:
    """What connecting a mailbox starts: a sync, which is a full one if history has expired, and the onboarding.

    The sync has a job of its own, so that no mail waits for the rest. After a disconnection it is a full one: that
    orders again what the canceled jobs have left undone.
    """
    sync = SyncPayload(account_id=account_id, reason="connected", force_full=reopened_at is not None)
    return (sync, OnboardPayload(account_id=account_id, reopened_at=reopened_at))
