"""The payloads of the approvals family."""

from uuid import UUID

from domain.jobs.uniqueness import while_active, while_queued
from domain.payloads.payload import Payload


class NotifyPayload(
    Payload,
    job_type="approvals.notify",
    aliases=("approval.notify",),
    unique=while_active("account_id", "action_id", "reminder"),
):
    """Which action a person is asked about, and whether for the second time; the words are read when they are sent."""

    account_id: UUID
    action_id: UUID
    reminder: bool = False


class ShowOutcomePayload(Payload, job_type="approvals.show_outcome", unique=while_queued("account_id", "action_id")):
    """Whose question is shown as answered."""

    account_id: UUID
    action_id: UUID


class ExpirePayload(Payload, job_type="approvals.expire"):
    """Nothing: the schedule says what and when."""
