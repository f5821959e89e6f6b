"""The payloads of the actions family."""

from typing import Annotated
from uuid import UUID

from pydantic import StringConstraints

from domain.jobs.uniqueness import while_active
from domain.payloads.mail_fields import GmailId
from domain.payloads.other_names import AccountId
from domain.payloads.payload import Payload


class ExecutePayload(
    Payload,
    job_type="actions.execute",
    aliases=("action.gmail",),
    unique=while_active("account_id", "action_id"),
):
    """Which action; its row has kind and parameters."""

    account_id: AccountId
    action_id: UUID


class UndoPayload(
    Payload,
    job_type="actions.undo",
    aliases=("undo.action",),
    unique=while_active("account_id", "original_action_id"),
):
    """Which action is to be taken back."""

    account_id: AccountId
    original_action_id: UUID


class UnsnoozePayload(
    Payload,
    job_type="actions.unsnooze",
    aliases=("unsnooze.gmail",),
    unique=while_active("account_id", "action_id"),
):
    """Which message comes back, and because of which snooze."""

    account_id: AccountId
    message_id: GmailId
    action_id: UUID
    snooze_label_id: Annotated[str, StringConstraints(min_length=1, max_length=225)] | None = None
    """The label that the snooze put on; without it the one that the account's settings name now."""
