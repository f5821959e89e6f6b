"""The payloads of the actions family."""

from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import StringConstraints

from domain.jobs.uniqueness import while_active
from domain.payloads.mail_fields import GmailId
from domain.payloads.other_names import AccountId
from domain.payloads.payload import Payload


class ActionOrder(Payload):
    """An action that is to be executed; its row has kind and parameters."""

    account_id: AccountId
    action_id: UUID


class ExecutePayload(
    ActionOrder,
    job_type="actions.execute",
    aliases=("action.gmail",),
    unique=while_active("account_id", "action_id"),
):
    """Which action; its row has kind and parameters."""


class ExecuteDecidedPayload(
    ActionOrder,
    job_type="actions.execute_decided",
    unique=while_active("account_id", "action_id"),
    asked_by="actions.execute",
):
    """Which action of a decision; its row has kind and parameters."""


class OrderedBy(StrEnum):
    """Who had an action go ahead."""

    PERSON = "person"
    """A person, or a service in their place: by name, or by approving it."""
    DECISION = "decision"
    """A rule, the model or an agent."""


def order_of(account_id: UUID, action_id: UUID, by: OrderedBy) -> ActionOrder:
    """The order that executes an action: its job type, and so its queue, follows from who had it go ahead.

    A person waits for what they ordered, in `critical`. Nobody waits for what was decided about incoming mail, and
    there is as much of it as there is mail: in `critical` it would keep people waiting (docs: seeds.md#004-44).
    """
    payload = ExecutePayload if by is OrderedBy.PERSON else ExecuteDecidedPayload
    return payload(account_id=account_id, action_id=action_id)


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
