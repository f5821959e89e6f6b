"""The payloads of the drafts family."""

from typing import Annotated

from domain.jobs.uniqueness import while_queued
from domain.payloads.mail_fields import GmailId
from domain.payloads.other_names import EMAIL_MESSAGE, EMAIL_THREAD, AccountId
from domain.payloads.payload import Payload


class WritePayload(
    Payload,
    job_type="drafts.write",
    aliases=("draft",),
    unique=while_queued("account_id", "thread_id"),
    serial_by="thread_id",
):
    """A thread that waits for an answer, and the message that asked for one."""

    account_id: AccountId
    thread_id: Annotated[GmailId, EMAIL_THREAD]
    message_id: Annotated[GmailId, EMAIL_MESSAGE]


class WriteManualPayload(
    Payload,
    job_type="drafts.write_manual",
    aliases=("manual_draft",),
    unique=while_queued("account_id", "thread_id", "by_label"),
    serial_by="thread_id",
):
    """A thread whose person asks for a draft by hand, or for which a service orders one."""

    account_id: AccountId
    thread_id: Annotated[GmailId, EMAIL_THREAD]
    by_label: bool = False
    """Whether a label on the thread orders it, which its person withdraws by taking the label off.

    Part of the key: what a service orders is no other job's, and stands whatever becomes of the label.
    """


class ReworkPayload(
    Payload,
    job_type="drafts.rework",
    aliases=("rework",),
    unique=while_queued("account_id", "thread_id", "by_label"),
    serial_by="thread_id",
):
    """A thread whose person asks for another draft."""

    account_id: AccountId
    thread_id: Annotated[GmailId, EMAIL_THREAD]
    by_label: bool = False
    """Whether a label on the thread orders it, which then withdraws the first draft of a thread that has none.

    Part of the key, as above. A thread has one queued job for its label, and one for services; whichever comes second
    finds the label gone, and does nothing.
    """
