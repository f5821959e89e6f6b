"""The payloads of the threads family."""

from typing import Annotated, Literal

from domain.jobs.uniqueness import while_queued
from domain.payloads.mail_fields import GmailId
from domain.payloads.other_names import EMAIL_THREAD, AccountId, LookUp, OtherName
from domain.payloads.payload import Payload


class CleanupPayload(
    Payload,
    job_type="threads.cleanup",
    aliases=("cleanup",),
    unique=while_queued("account_id", "thread_id", "action", "draft_thread_id"),
):
    """Which thread, and why it is looked at."""

    account_id: AccountId
    thread_id: Annotated[GmailId, EMAIL_THREAD, OtherName("message_id", LookUp.THREAD_OF_MESSAGE)]
    action: Literal["done", "check_sent"]
    draft_thread_id: GmailId | None = None
    """Where the draft was last seen, when a person's edit of its subject has moved it to another thread."""
