"""Changes one message of a mailbox for an action: a move to or from the trash, then labels, or its deletion.

The intent is committed before the call, with the history records that the call will cause. Repeating a change does
nothing, so doubt about it is resolved by doing it again.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import NamedTuple
from uuid import UUID

from domain.jobs.effects import Strategy
from domain.jobs.failures import Forbidden, Gone, Permanent, Transient, Unauthorised
from domain.jobs.job import JsonObject
from domain.mail.actions.action import LabelWish
from domain.mail.actions.undo_hint import PLACES, change_of
from domain.mail.mailbox import INBOX, TRASH
from engine.context import JobContext
from engine.effects import EffectGuard
from providers.ports import Mailbox
from storage.accounts import expected_writes
from storage.accounts.accounts import Account
from storage.accounts.expected_writes import ExpectedWrite
from storage.mail import messages
from storage.postgres.database import Transaction
from tasks.mail import mailbox_labels
from tasks.mail.thread_handle import INVALID_LABEL

DELETED = "the message was deleted from the mailbox"
MISSING_SCOPE = "gmail.insufficientPermissions"
FULL_SCOPE = "https://mail.google.com/"
"""What deleting for good takes (docs: gmail.md#trash)."""


class Move(StrEnum):
    """What happens to a message before its labels change."""

    TRASH = "trash"
    RESTORE = "restore"
    DELETE = "delete"


NO_WISH = LabelWish()


@dataclass(frozen=True, slots=True)
class Change:
    """What is to be done to a message; `labels` is a wish: what is so already is left alone."""

    move: Move | None = None
    labels: LabelWish = NO_WISH


class MessageHandle:
    """One message and the change in progress on it."""

    def __init__(self, ctx: JobContext, mailbox: Mailbox, account: Account, message_id: str) -> None:
        """Nothing is asked or changed yet."""
        self._ctx = ctx
        self._mailbox = mailbox
        self._account = account
        self._message_id = message_id

    def labels(self) -> frozenset[str]:
        """The labels that the message carries; raises `Gone` with a reason for its owner."""
        try:
            return self._mailbox.message_facts(self._message_id).label_ids
        except Gone:
            raise Gone(DELETED, code="action.message_gone") from None

    def carry_out(
        self,
        change: Change,
        now: frozenset[str],
        *,
        key: str,
        intend: Callable[[Transaction], object] = lambda _: None,
    ) -> "Changed":
        """Make a change on the message, which carries the labels `now`; `intend` writes rows with the intent.

        Raises `Gone` for a message that does not exist, and `Transient` after a label was found to be deleted: the next
        attempt knows of it.
        """
        with self._ctx.tx() as tx:
            effect = self._ctx.begin_effect(tx, key, Strategy.IDEMPOTENT)
            expected_writes.expect(tx, self._account.account_id, list(_echo(self._message_id, change, now)))
            intend(tx)
        try:
            result = effect.carry_out(partial(_call, self._mailbox, self._message_id, change, now))
        except Gone:
            raise Gone(DELETED, code="action.message_gone") from None
        except Permanent as refusal:
            used = change.labels.add | change.labels.remove
            if refusal.code == INVALID_LABEL and mailbox_labels.have_changed(
                self._ctx, self._mailbox, self._account, used
            ):
                raise Transient("a label was deleted from the mailbox", code="labels.changed") from None
            raise
        place = MessageKey(self._account.account_id, self._message_id)
        return Changed(place, change, now, frozenset(result["labels"]), effect)


class MessageKey(NamedTuple):
    """Where a message is stored."""

    account_id: UUID
    message_id: str


@dataclass(frozen=True, slots=True)
class Changed:
    """A change that was made; `finish` writes it in the transaction that settles the job."""

    place: MessageKey
    change: Change
    before: frozenset[str]
    after: frozenset[str]
    """The message's labels after it, none for a deleted one."""
    effect: EffectGuard

    def finish(self, tx: Transaction) -> frozenset[str]:
        """Write the effect's result, and the labels that the message carries now; returns those that it has lost."""
        self.effect.record(tx)
        here, ids = self.place.account_id, {self.place.message_id}
        if self.change.move is Move.DELETE:
            messages.mark_deleted(tx, here, ids)
            return frozenset()
        # More than this attempt has changed: one that died may have changed labels without storing it.
        gone = (self.before | self.change.labels.remove | PLACES | {TRASH}) - self.after
        stored = messages.change_labels(tx, here, ids, add=self.after, remove=gone)
        return frozenset[str]().union(*(one.before - one.after for one in stored.values()))


def _call(mailbox: Mailbox, message_id: str, change: Change, now: frozenset[str]) -> JsonObject:
    match change.move:
        case Move.DELETE:
            _delete(mailbox, message_id)
            return {"labels": []}
        case Move.TRASH if TRASH not in now:
            now = mailbox.trash_message(message_id)
        case Move.RESTORE if TRASH in now:
            now = mailbox.untrash_message(message_id)
    left = change_of(now, change.labels)
    if left.add or left.remove:
        now = mailbox.modify_message(message_id, add=sorted(left.add), remove=sorted(left.remove))
    return {"labels": sorted(now)}


def _delete(mailbox: Mailbox, message_id: str) -> None:
    try:
        mailbox.delete_message(message_id)
    except Gone:
        # An earlier attempt has deleted it, or its person has since the message was looked at.
        return
    except Unauthorised as refusal:
        if refusal.code != MISSING_SCOPE:
            raise
        # Not the account's consent as a whole: everything else goes on.
        raise Forbidden(
            f"the account's consent does not cover {FULL_SCOPE}, which deleting for good takes; trash the message",
            code="action.scope_missing",
        ) from None


def _echo(message_id: str, change: Change, now: frozenset[str]) -> Iterator[ExpectedWrite]:
    """What the calls will send back as history."""
    wish = change.labels
    match change.move:
        case Move.DELETE:
            yield ExpectedWrite("message_deleted", message_id=message_id)
            return
        case Move.TRASH:
            wish = LabelWish(wish.add | {TRASH}, wish.remove | {INBOX})
        case Move.RESTORE:
            # Not INBOX, which may come back or not: a person who moves the message there is news.
            wish = LabelWish(wish.add, wish.remove | {TRASH})
    left = change_of(now, wish)
    for label_id in sorted(left.add):
        yield ExpectedWrite("labels_added", message_id=message_id, label_id=label_id)
    for label_id in sorted(left.remove):
        yield ExpectedWrite("labels_removed", message_id=message_id, label_id=label_id)
