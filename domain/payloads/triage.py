"""The payloads of the triage family."""

from uuid import UUID

from domain.jobs.uniqueness import while_active
from domain.payloads.payload import Payload


class ClassifyPayload(
    Payload,
    job_type="triage.classify",
    aliases=("classify",),
    unique=while_active("account_id", "message_id"),
):
    """Which message; `force` decides again although it was decided."""

    account_id: UUID
    message_id: str
    force: bool = False
