"""The payloads of the notifications family. What is said stands in rows; a job names its row."""

from typing import Annotated
from uuid import UUID

from pydantic import Field

from domain.jobs.uniqueness import for_ttl, while_active
from domain.payloads.payload import Payload

ASKED_BY = "POST /v1/notifications, or postroom.notify in SQL"
HASH_OF_NOTHING = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
"""Of `{}`: no data."""


class DeliverPayload(
    Payload,
    job_type="notifications.deliver",
    unique=for_ttl("recipient_id", "template_name", "data_hash", "bucket"),
    asked_by=ASKED_BY,
):
    """Which notification is delivered, and what makes it the same as another of the last seven days.

    It is asked for by `storage.notifications.notify`, or in SQL by `postroom.notify`, which write the row it names.
    """

    notification_id: UUID
    recipient_id: UUID
    template_name: Annotated[str, Field(max_length=100)]
    data_hash: Annotated[str, Field(pattern="^[0-9a-f]{64}$", examples=[HASH_OF_NOTHING])]
    bucket: Annotated[str, Field(max_length=200)] = ""


class CloseDigestPayload(
    Payload, job_type="notifications.close_digest", unique=while_active("digest_id"), asked_by=ASKED_BY
):
    """Which digest is closed and sent."""

    digest_id: UUID


class SendEmailPayload(
    Payload, job_type="notifications.send_email", unique=while_active("delivery_id"), asked_by=ASKED_BY
):
    """Which e-mail is sent."""

    delivery_id: UUID


class SendSmsPayload(Payload, job_type="notifications.send_sms", unique=while_active("delivery_id"), asked_by=ASKED_BY):
    """Which text message is sent."""

    delivery_id: UUID


class SendPushPayload(
    Payload, job_type="notifications.send_push", unique=while_active("delivery_id"), asked_by=ASKED_BY
):
    """Which message is sent to which device."""

    delivery_id: UUID


class CloseOverduePayload(Payload, job_type="notifications.close_overdue"):
    """Nothing: the schedule says what and when."""
