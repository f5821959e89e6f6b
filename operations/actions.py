"""Actions on messages, as people and services see them."""

from datetime import datetime
from typing import ClassVar
from uuid import UUID

from pydantic import Field

from domain.jobs.job import JsonObject
from domain.mail.actions.kinds import ActionKind, Danger, Inverse
from domain.mail.actions.status import ActionStatus
from operations.operation import Record


class ActionView(Record):
    """One action; what looks like a secret is taken out."""

    plural: ClassVar = "actions"
    columns: ClassVar = ("action_id", "kind", "state", "message_id", "created_at", "approval_expires_at", "why")

    action_id: UUID
    org_id: UUID
    account_id: UUID
    message_id: str
    kind: ActionKind
    parameters: JsonObject
    version: int = Field(description="Of the parameters.")
    danger: Danger
    inverse: Inverse = Field(description="What would take it back; `none` for what cannot be undone.")
    state: ActionStatus
    reasons: list[str] = Field(description="Why a person is asked.")
    why: str = Field(description="Why it is in its state: its error, or why a person is asked.")
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
