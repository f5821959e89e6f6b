"""What snoozing and waking share: the label of snoozed messages, the time, and whether a message is to be woken."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

from domain.jobs.effects import Strategy
from domain.jobs.failures import Conflict, Invalid, Permanent
from domain.jobs.job import JsonObject
from domain.mail.actions.kinds import ActionKind
from domain.mail.actions.snooze import Snooze
from domain.mail.actions.status import ActionStatus
from domain.mail.actions.undo_hint import UndoHint
from domain.mail.correspondence import LabelRole, label_key, label_name
from domain.mail.mailbox import INBOX, MailboxLabel
from domain.payloads.actions import UnsnoozePayload
from engine.context import JobContext
from providers.ports import Mailbox
from storage.accounts import labels
from storage.accounts.accounts import Account
from storage.actions.actions import StoredAction
from storage.postgres.database import Transaction
from tasks.mail import mailbox_labels

RECONNECTED_WITHIN = timedelta(days=30)
"""After a month a person who comes back looks through the label of snoozed messages anyway."""


def wakes_at(action: Snooze, kept: UndoHint | None, now: datetime) -> datetime:
    """When the message comes back: as the first attempt had it. Raises `Permanent` for a time that is no use."""
    if kept is not None and kept.snooze_until is not None:
        if kept.snooze_until <= now:
            raise Permanent("until: passed before the message could be snoozed", code="action.too_late")
        return kept.snooze_until
    try:
        return action.wakes_at(now)
    except Invalid as refusal:
        raise Permanent(f"parameters.{refusal.reason}", code="action.invalid") from None


def with_wake(hint: UndoHint, wake_job: UUID) -> UndoHint:
    """The hint, with the job that brings the message back."""
    inverse = hint.inverse_parameters.model_copy(update={"cancel_unsnooze_job_id": wake_job})
    return hint.model_copy(update={"unsnooze_job_id": wake_job, "inverse_parameters": inverse})


def known_label(tx: Transaction, account: Account) -> str | None:
    """The id of the label that the account's settings name, if the mailbox has it."""
    found = _find(labels.list_all(tx, account.account_id), account)
    return found.label_id if found else None


def label(ctx: JobContext, mailbox: Mailbox, account: Account) -> MailboxLabel:
    """The label of snoozed messages; created where the mailbox lacks it."""
    with ctx.tx() as tx:
        found = _find(labels.list_all(tx, account.account_id), account)
    if found is not None:
        return found
    name = account.settings.snooze_label
    if name is None:
        made = mailbox_labels.create(ctx, mailbox, account, [LabelRole.SNOOZED])[LabelRole.SNOOZED]
        return MailboxLabel(made, label_name(LabelRole.SNOOZED, account.settings.label_parent), "user")
    return _create(ctx, mailbox, account, name)


def check_wake(payload: UnsnoozePayload, snoozed: StoredAction) -> None:
    """Raise `Invalid` for an order to wake another message than was snoozed, or to take another label off."""
    if snoozed.kind is not ActionKind.SNOOZE:
        raise Invalid("action_id", f"is an action of the kind {snoozed.kind}, and no snooze")
    if payload.message_id != snoozed.message_id:
        raise Invalid("message_id", "is another message than was snoozed")
    kept = UndoHint.model_validate(snoozed.undo_hint).snooze_label_id if snoozed.undo_hint else None
    if kept is not None and payload.snooze_label_id not in {None, kept}:
        raise Invalid("snooze_label_id", "is another label than the snooze put on")


def why_not_wake(snoozed: StoredAction, others: Sequence[StoredAction], now: datetime) -> str | None:
    """Why a message stays where it is, or None: its snooze was undone, or a later one has it now."""
    if snoozed.state is ActionStatus.UNDONE:
        return "the snooze was undone"
    for other in others:
        if other.kind is not ActionKind.SNOOZE or other.state is not ActionStatus.DONE or not other.undo_hint:
            continue
        until = UndoHint.model_validate(other.undo_hint).snooze_until
        if other.created_at > snoozed.created_at and until is not None and until > now:
            return f"the message was snoozed again until {until.isoformat()}"
    return None


def is_overdue(hint: UndoHint, others: Sequence[StoredAction], now: datetime) -> bool:
    """Whether a message comes back when the snooze of this hint is undone, although it was away before.

    An earlier snooze had put it there, and its time has passed: its job left the message to the later one.
    """
    before = hint.labels_before or ()
    is_awake = hint.snooze_until is not None and hint.snooze_until <= now
    if is_awake or hint.snooze_label_id not in before or INBOX in before:
        return False
    ends = (
        UndoHint.model_validate(one.undo_hint).snooze_until
        for one in others
        if one.kind is ActionKind.SNOOZE and one.state is ActionStatus.DONE and one.undo_hint
    )
    return any(until is not None and until <= now for until in ends)


def is_given_up(snoozed: StoredAction, now: datetime) -> bool:
    """Whether the account of a message that should be awake was disconnected for so long that nobody waits for it."""
    hint = UndoHint.model_validate(snoozed.undo_hint) if snoozed.undo_hint else None
    until = hint.snooze_until if hint else None
    return now - (until or snoozed.created_at) > RECONNECTED_WITHIN


def _find(stored: Sequence[labels.StoredLabel], account: Account) -> MailboxLabel | None:
    name = account.settings.snooze_label
    for one in stored:
        if name is None and one.role is LabelRole.SNOOZED:
            return one.label
        if name is not None and one.label.kind == "user" and label_key(one.label.name) == label_key(name):
            return one.label
    return None


def _create(ctx: JobContext, mailbox: Mailbox, account: Account, name: str) -> MailboxLabel:
    """Create the label of a name that the account's settings choose, its parents first."""
    parts = name.split("/")
    for depth in range(1, len(parts) + 1):
        part = "/".join(parts[:depth])
        key = f"label:{account.account_id}:{part}:{ctx.job.job_id}"
        ctx.effect(key, partial(_create_one, mailbox, part), strategy=Strategy.IDEMPOTENT)
    listed = mailbox.labels()
    found = next((one for one in listed if one.kind == "user" and label_key(one.name) == label_key(name)), None)
    if found is None:
        raise Permanent(f"Gmail neither has nor makes the label {name}", code="labels.refused")
    with ctx.tx() as tx:
        labels.add(tx, account.account_id, listed)
    return found


def _create_one(mailbox: Mailbox, name: str) -> JsonObject:
    try:
        made = mailbox.create_label(name)
    except Conflict:
        return {"name": name, "made": False}
    return {"name": name, "made": True, "label_id": made.label_id}
