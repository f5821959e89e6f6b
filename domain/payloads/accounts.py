"""The payloads of the accounts family."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import Field

from domain.jobs.uniqueness import while_active
from domain.payloads.gmail import SyncPayload
from domain.payloads.other_names import AccountId
from domain.payloads.payload import Payload


class OnboardPayload(
    Payload,
    job_type="accounts.onboard",
    aliases=("email_processing",),
    unique=while_active("account_id", "connected_at"),
    serial_by="account_id",
):
    """Which mailbox was connected, and when: a later connection is set up by a job of its own.

    It is not folded into one that waits: what that has done was for the connection before, maybe another mailbox's.
    """

    account_id: AccountId
    connected_at: Annotated[datetime | None, Field(examples=["2026-11-24T09:00:00Z"])] = None


class LearnVoicePayload(
    Payload, job_type="accounts.learn_voice", unique=while_active("account_id"), serial_by="account_id"
):
    """Whose way of writing is to be learned from their sent mail; `again` also if that was done lately."""

    account_id: AccountId
    again: bool = False


def first_jobs(account_id: UUID, connected_at: datetime) -> tuple[Payload, ...]:
    """What connecting a mailbox starts: a sync, which is a full one if history has expired, and the onboarding.

    The sync has a job of its own, so that no mail waits for the rest.
    """
    onboard = OnboardPayload(account_id=account_id, connected_at=connected_at)
    return (SyncPayload(account_id=account_id, reason="connected"), onboard)
