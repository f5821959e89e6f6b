"""What the HTTP entry point says of actions, and what it takes."""

from typing import Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from domain.payloads.mail_fields import GmailId
from operations.actions import ActionView


class ActionRequest(BaseModel):
    """An action that is asked for on one message."""

    model_config = ConfigDict(extra="forbid")

    account_id: UUID
    message_id: GmailId = Field(description="Gmail's id of a message that is stored.")
    action: dict[str, Any] = Field(
        description='`kind`, and beside it the parameters of that kind: `{"kind": "snooze", "amount": 2, "units":'
        ' "hours"}`. A forward and an answer take files as `attachments`, each with `filename`, `content_type` and'
        " `data` (base64). See docs/explanation/actions.md."
    )


class ActionPage(BaseModel):
    """A part of a list, the newest action first."""

    actions: list[ActionView]
    next_cursor: str | None = Field(description="Give it as `cursor` for the next part; null at the end.")


class UndoRequested(BaseModel):
    """The job that takes an action back."""

    action_id: UUID
    job_id: UUID
    created: bool = Field(description="False when an undo of the action was under way already; it is that job.")
