"""The payloads of the triage family."""

from typing import Annotated

from domain.jobs.uniqueness import while_active
from domain.payloads.mail_fields import GmailId
from domain.payloads.other_names import AccountId, LookUp, OtherName
from domain.payloads.payload import Payload


class ClassifyPayload(
    Payload,
    job_type="triage.classify",
    aliases=("classify",),
    unique=while_active("account_id", "message_id"),
):
    """Which message; `force` decides again although it was decided."""

    account_id: AccountId
    message_id: Annotated[GmailId, OtherName("thread_id", LookUp.MESSAGE_OF_THREAD)]
    force: bool = False
