"""What snoozing and waking share: the label of snoozed messages, the time, and the stored snoozes as values."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from domain.jobs.failures import Invalid, Permanent
from domain.mail.actions.kinds import ActionKind
from domain.mail.actions.snooze import Snooze
from domain.mail.actions.snoozing import PastSnooze
from domain.mail.actions.undo_hint import UndoHint
from domain.mail.correspondence import LabelRole, label_key, label_name
from domain.mail.mailbox import MailboxLabel
from engine.context import JobContext
from providers.ports import Mailbox
from storage.mail.accounts import labels
from storage.mail.accounts.accounts import Account
from storage.mail.actions import actions
from storage.mail.actions.actions import StoredAction
from storage.postgres.database import Transaction
from tasks.mail.steps import mailbox_labels


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
    with ctx.read() as tx:
        found = _find(labels.list_all(tx, account.account_id), account)
    if found is not None:
        return found
    name = account.settings.snooze_label
    if name is None:
        made = mailbox_labels.create(ctx, mailbox, account, [LabelRole.SNOOZED])[LabelRole.SNOOZED]
        return MailboxLabel(made, label_name(LabelRole.SNOOZED, account.settings.label_parent), "user")
    return _create(ctx, mailbox, account, name)


def hint_of(stored: StoredAction) -> UndoHint | None:
    """What is known of the undo of an action; None before it has come so far."""
    return UndoHint.model_validate(stored.undo_hint) if stored.undo_hint else None


def as_past(snoozed: StoredAction, hint: UndoHint | None) -> PastSnooze:
    """A snooze as the rules see it."""
    return PastSnooze(
        snoozed.action_id,
        snoozed.state,
        snoozed.created_at,
        until=hint.snooze_until if hint else None,
        label_id=hint.snooze_label_id if hint else None,
    )


def snoozes_of(tx: Transaction, account_id: UUID, message_id: str) -> tuple[PastSnooze, ...]:
    """The snoozes of a message, with the ids that their labels have now.

    A label that was deleted is none of theirs any more.
    """
    stored = [one for one in actions.of_message(tx, account_id, message_id) if one.kind is ActionKind.SNOOZE]
    snoozes = [as_past(one, hint_of(one)) for one in stored]
    live = labels.translate(tx, account_id, sorted({one.label_id for one in snoozes if one.label_id}))
    return tuple(replace(one, label_id=live.get(one.label_id or "", one.label_id)) for one in snoozes)


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
    mailbox_labels.make(ctx, mailbox, account, name, ["/".join(parts[:depth]) for depth in range(1, len(parts) + 1)])
    listed = mailbox.labels()
    found = next((one for one in listed if one.kind == "user" and label_key(one.name) == label_key(name)), None)
    if found is None:
        raise Permanent(f"Gmail neither has nor makes the label {name}", code="labels.refused")
    with ctx.tx() as tx:
        labels.add(tx, account.account_id, listed)
    return found
