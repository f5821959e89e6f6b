"""What the HTTP door says of actions, and what it takes."""

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from domain.jobs.job import JsonObject
from domain.mail.actions.kinds import ActionKind, Danger, Inverse
from domain.mail.actions.status import ActionStatus
from domain.payloads.mail_fields import GmailId


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


class ActionView(BaseModel):
    """One action; what looks like a secret is taken out."""

    action_id: UUID
    account_id: UUID
    message_id: str
    kind: ActionKind
    parameters: JsonObject
    version: int = Field(description="Of the parameters.")
    danger: Danger
    inverse: Inverse = Field(description="What would take it back; `none` for what cannot be undone.")
    state: ActionStatus
    reasons: list[str] = Field(description="Why a person is asked.")
    requested_by: str | None = Field(description="Null for an action that a decision led to.")
    decision_id: UUID | None
    job_id: UUID | None = Field(description="The job that executes it, or did.")
    undo_of: UUID | None = Field(description="The action that this one takes back.")
    undone_by: UUID | None = Field(description="The action that takes this one back, or tries to.")
    undo_hint: JsonObject | None
    error: JsonObject | None
    approver: str | None
    decided_at: datetime | None
    approval_expires_at: datetime | None
    approval_reason: str | None
    sent_message_id: str | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


class ActionPage(BaseModel):
    """A part of a list, the newest action first."""

    actions: list[ActionView]
    next_cursor: str | None = Field(description="Give it as `cursor` for the next part; null at the end.")


class UndoRequested(BaseModel):
    """The job that takes an action back."""

    action_id: UUID
    job_id: UUID
    created: bool = Field(description="False when an undo of the action was under way already; it is that job.")
