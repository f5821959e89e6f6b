"""The payloads of the reminders family. What is said stands in the reminder's row."""

from typing import Annotated
from uuid import UUID

from pydantic import Field

from domain.payloads.payload import Payload

LARGEST_OCCURRENCE = 2**31 - 1
"""What the column of the table holds."""


class DeliverPayload(Payload, job_type="reminders.deliver", aliases=("reminder_delivery",)):
    """Which reminder rings, and whose. The fleet adds the occurrence, for a job of an earlier one is stale."""

    reminder_id: UUID
    user_id: UUID
    occurrence: Annotated[int | None, Field(ge=1, le=LARGEST_OCCURRENCE)] = None
