"""The payloads of the approvals family."""

from typing import Annotated
from uuid import UUID

from domain.jobs.uniqueness import while_active, while_queued
from domain.payloads.other_names import OtherName
from domain.payloads.payload import Payload

ApprovalId = Annotated[UUID, OtherName("action_id")]
"""What a person is asked about: an action by its id, a workflow's node by the id that each of its waits has anew."""


class NotifyPayload(
    Payload,
    job_type="approvals.notify",
    aliases=("approval.notify",),
    unique=while_active("approval_id", "reminder"),
):
    """What a person is asked about, and whether for the second time; the words are read when they are sent.

    An action names its mailbox besides: a gate of the mailbox's holds the question, too.
    """

    approval_id: ApprovalId
    account_id: UUID | None = None
    reminder: bool = False


class ShowOutcomePayload(Payload, job_type="approvals.show_outcome", unique=while_queued("approval_id")):
    """Whose question is shown as answered."""

    approval_id: ApprovalId
    account_id: UUID | None = None


class ExpirePayload(Payload, job_type="approvals.expire"):
    """Nothing: the schedule says what and when."""
