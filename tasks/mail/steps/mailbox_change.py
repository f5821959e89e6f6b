"""Changes a mailbox for one job: a move to or from the trash and labels, on one message or on a thread's messages.

The intent is committed before the calls, with the history records that the calls will cause; no transaction is open
during a call. Repeating a change does nothing, so doubt about it is resolved by doing it again.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from functools import partial
from typing import Self
from uuid import UUID

from domain.jobs.effects import Strategy
from domain.jobs.failures import Forbidden, Gone, Permanent, Transient, Unauthorised
from domain.jobs.job import JsonObject
from domain.mail.actions.action import LabelWish
from domain.mail.actions.undo_hint import PLACES, change_of
from domain.mail.correspondence import LabelPlan, LabelRole
from domain.mail.mailbox import DRAFT, INBOX, TRASH, ThreadFacts
from domain.mail.thread_plan import ThreadPlan
from engine.context import JobContext
from engine.effects import EffectGuard
from providers.ports import Mailbox
from storage.mail import messages
from storage.mail.accounts import expected_writes
from storage.mail.accounts.accounts import Account
from storage.mail.accounts.expected_writes import ExpectedWrite
from storage.mail.emails import MadeDraft
from storage.mail.messages import LabelChange
from storage.postgres.database import Transaction
from storage.postgres.transaction import Asked
from tasks.mail.steps import mailbox_labels
from tasks.mail.steps.mailbox_session import check_connected, open_mailbox

INVALID_LABEL = "gmail.invalidArgument"
"""What Gmail answers when a label id names nothing any more."""
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
class WantedChange:
    """What is to be done to a message; `labels` is a wish: what is so already is left alone."""

    move: Move | None = None
    labels: LabelWish = NO_WISH


def labels_of(mailbox: Mailbox, message_id: str) -> frozenset[str]:
    """The labels that a message carries; raises `Gone` with a reason for its owner."""
    try:
        return mailbox.message_facts(message_id).label_ids
    except Gone:
        raise Gone(DELETED, code="action.message_gone") from None


@dataclass(slots=True)
class MailboxChange:
    """One change of some messages, in one effect: `begin` it, `apply` it after the commit, `finish` it with the job.

    Labels go on messages one by one, because a draft message can carry none.
    """

    ctx: JobContext
    mailbox: Mailbox
    account: Account
    change: WantedChange
    carried: Mapping[str, frozenset[str]]
    """By message id: the labels that the message carries before the change."""
    key: str
    """The effect's key."""
    remember: timedelta = expected_writes.KEEP
    """How long it stays known which labels the change takes off."""
    after: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """By message id: what a move has left on the message; known once it is applied."""
    _effect: EffectGuard | None = None

    def carry_out(self, intend: Callable[[Transaction], object] = lambda _: None) -> Self:
        """Begin the change, with the rows that `intend` writes, and apply it; returns itself. Raises as `apply`."""
        with self.ctx.tx() as tx:
            self.begin(tx)
            intend(tx)
        self.apply()
        return self

    def begin(self, tx: Transaction) -> None:
        """Store the intent, and the history records that the calls will cause.

        Raises as `JobContext.begin_effect`; where another effect is recorded in the same transaction, `apply` does.
        """
        self._effect = self.ctx.begin_effect(tx, self.key, Strategy.IDEMPOTENT)
        if not self._effect.is_refused:
            echo = [write for message_id in self.carried for write in self._echo(message_id)]
            expected_writes.expect(tx, self.account.account_id, echo, remember=self.remember)

    def apply(self) -> None:
        """Make the calls; the intent must be committed.

        Raises `Gone` for a message that does not exist, and `Transient` after a label was found to be deleted: the next
        attempt knows of it.
        """
        if self._effect is None:
            return
        try:
            result = self._effect.carry_out(self._call)
        except Gone:
            raise Gone(DELETED, code="action.message_gone") from None
        except Permanent as refusal:
            used = self.change.labels.add | self.change.labels.remove
            if refusal.code == INVALID_LABEL and mailbox_labels.have_changed(
                self.ctx, self.mailbox, self.account, used
            ):
                raise Transient("a label was deleted from the mailbox", code="labels.changed") from None
            raise
        if self.change.move is not None:
            if "labels" not in result:
                # A person has said that it happened, and not what it left; repeating it tells that.
                result = self._call()
            self.after = {message_id: frozenset(left) for message_id, left in result["labels"].items()}

    def finish(self, tx: Transaction) -> Callable[[], frozenset[str]]:
        """Write the effect's result, and the labels that the messages carry now; answers which they have lost.

        Messages that needed no change are included: an attempt that died may have changed them without storing it.
        """
        if self._effect is not None:
            self._effect.record(tx)
        account_id, wish, stored = self.account.account_id, self.change.labels, list[Asked[Mapping[str, LabelChange]]]()
        if self.change.move is Move.DELETE:
            messages.mark_deleted(tx, account_id, self.carried)
        elif self.change.move is None:
            remove = wish.remove - wish.add
            stored.append(messages.change_labels(tx, account_id, self.carried, add=wish.add, remove=remove))
        else:
            for message_id, after in self.after.items():
                gone = (self.carried[message_id] | wish.remove | PLACES | {TRASH}) - after
                stored.append(messages.change_labels(tx, account_id, {message_id}, add=after, remove=gone))
        return lambda: frozenset().union(*(one.before - one.after for each in stored for one in each.answer.values()))

    def _call(self) -> JsonObject:
        wish = self.change.labels
        if self.change.move is not None:
            return {"labels": {message_id: self._move(message_id, now) for message_id, now in self.carried.items()}}
        for message_id, now in self.carried.items():
            self._label(message_id, now, wish)
        return {"changed": sum(any(change_of(now, wish)) for now in self.carried.values())}

    def _move(self, message_id: str, now: frozenset[str]) -> list[str]:
        match self.change.move:
            case Move.DELETE:
                _delete(self.mailbox, message_id)
                return []
            case Move.TRASH if TRASH not in now:
                now = self.mailbox.trash_message(message_id)
            case Move.RESTORE if TRASH in now:
                now = self.mailbox.untrash_message(message_id)
        return sorted(self._label(message_id, now, self.change.labels))

    def _label(self, message_id: str, now: frozenset[str], wish: LabelWish) -> frozenset[str]:
        left = change_of(now, wish)
        if not any(left):
            return now
        return self.mailbox.modify_message(message_id, add=sorted(left.add), remove=sorted(left.remove))

    def _echo(self, message_id: str) -> Iterator[ExpectedWrite]:
        """What the calls will send back as history."""
        wish = self.change.labels
        match self.change.move:
            case Move.DELETE:
                yield ExpectedWrite("message_deleted", message_id=message_id)
                return
            case Move.TRASH:
                wish = LabelWish(wish.add | {TRASH}, wish.remove | {INBOX})
            case Move.RESTORE:
                # Not INBOX, which may come back or not: a person who moves the message there is news.
                wish = LabelWish(wish.add, wish.remove | {TRASH})
        left = change_of(self.carried[message_id], wish)
        for label_id in sorted(left.add):
            yield ExpectedWrite("labels_added", message_id=message_id, label_id=label_id)
        for label_id in sorted(left.remove):
            yield ExpectedWrite("labels_removed", message_id=message_id, label_id=label_id)


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


def discard_draft(mailbox: Mailbox, draft_id: str) -> JsonObject:
    """Delete a draft; one that is gone already is no failure."""
    try:
        mailbox.delete_draft(draft_id)
    except Gone:
        return {"draft_id": draft_id, "gone": True}
    return {"draft_id": draft_id}


@contextmanager
def open_thread(
    ctx: JobContext, account: Account, thread_id: str, label_ids: Mapping[LabelRole, str], *, purpose: str = ""
) -> Iterator["OpenThread"]:
    """Open a thread; its mailbox is opened when it is first needed. `label_ids` are those of our labels.

    A job that changes a thread's labels more than once names the `purpose` of each change. Raises as `check_connected`.
    """
    check_connected(account)
    with ExitStack() as stack:
        key = ":".join(("labels", str(ctx.job.job_id), thread_id, *filter(None, [purpose])))
        yield OpenThread(ctx, account, thread_id, dict(label_ids), stack, key)


@dataclass(slots=True)
class OpenThread:
    """One thread, and the change in progress on it: of its labels, and of the draft that is to be discarded."""

    ctx: JobContext
    account: Account
    thread_id: str
    label_ids: dict[LabelRole, str]
    _stack: ExitStack
    _key: str
    _mailbox: Mailbox | None = None
    _change: MailboxChange | None = None
    _read: ThreadFacts | None = None
    _unwanted: MadeDraft | None = None
    _discard: EffectGuard | None = None

    @property
    def where(self) -> tuple[UUID, str]:
        """What names the thread and its record: the account's id, and its own."""
        return self.account.account_id, self.thread_id

    @property
    def history_id(self) -> int | None:
        """The thread's history id when it was last read for its labels."""
        return None if self._read is None else self._read.history_id

    def labels_of(self, message_id: str) -> frozenset[str] | None:
        """The labels of a message when the thread was last read for its labels; None when it was gone."""
        shown = () if self._read is None else self._read.messages
        return next((one.label_ids for one in shown if one.message_id == message_id), None)

    def carries(self, role: LabelRole) -> bool:
        """Whether a message of the thread carries a label of ours now, by what the mailbox says."""
        label_id = self.label_ids.get(role)
        return label_id is not None and any(
            label_id in message.label_ids for message in self.mailbox.thread(self.thread_id).messages
        )

    @property
    def mailbox(self) -> Mailbox:
        """The thread's mailbox; raises what `open_mailbox` raises."""
        if self._mailbox is None:
            self._mailbox = self._stack.enter_context(open_mailbox(self.ctx, self.account))
        return self._mailbox

    def carry_out(
        self,
        plan: ThreadPlan,
        draft: MadeDraft | None = None,
        *,
        check: Callable[[ThreadFacts], object] = lambda _: None,
    ) -> None:
        """Do all of a plan that happens at the provider; `draft` is the one to discard. Raises `Gone`.

        `check` may object to the thread as it was read for its labels, before anything is changed.
        """
        self.prepare(plan.labels)
        if self._read is not None:
            check(self._read)
        self._unwanted = draft if plan.discard_draft else None
        self.change()

    def carry_out_unless_gone(self, plan: ThreadPlan, draft: MadeDraft | None = None) -> None:
        """The same, where a deleted thread needs no change any more."""
        try:
            self.carry_out(plan, draft)
        except Gone:
            self.ctx.log.info("thread_gone", thread_id=self.thread_id)

    def change(self) -> None:
        """Begin and apply what is prepared."""
        if self._change is not None or self._unwanted is not None:
            with self.ctx.tx() as tx:
                self.begin(tx)
            self.apply()

    def forget(self) -> None:
        """Forget a change whose result is committed; another may follow in the same job."""
        self._change, self._unwanted, self._discard = None, None, None

    def prepare(self, plan: LabelPlan) -> None:
        """Find out which messages have to be changed; creates those of our labels that the mailbox lacks."""
        missing = plan.add - self.label_ids.keys()
        if missing:
            self.label_ids |= mailbox_labels.create(self.ctx, self.mailbox, self.account, missing)
        add = frozenset(self.label_ids[role] for role in plan.add)
        remove = frozenset(self.label_ids[role] for role in plan.remove if role in self.label_ids)
        self.prepare_ids(LabelWish(add, remove | {INBOX} if plan.archive else remove))

    def prepare_ids(self, wish: LabelWish) -> None:
        """Find out which messages have to be changed to carry some labels and not others, by id."""
        if not any(wish):
            self._change = None
            return
        self._read = self.mailbox.thread(self.thread_id)
        carried = {one.message_id: one.label_ids for one in self._read.messages if DRAFT not in one.label_ids}
        self._change = MailboxChange(
            self.ctx,
            self.mailbox,
            self.account,
            WantedChange(labels=wish),
            carried,
            self._key,
            expected_writes.REMEMBER,
        )

    def begin(self, tx: Transaction) -> None:
        """Store the intents of the discard and of the label change. Raises as `MailboxChange.begin`."""
        if self._unwanted is not None:
            self._discard = self.ctx.begin_effect(tx, f"discard:{self._unwanted.draft_id}", Strategy.IDEMPOTENT)
        if self._change is not None:
            self._change.begin(tx)

    def apply(self) -> None:
        """Discard the draft and change the labels; the intents must be committed. Raises as `MailboxChange.apply`."""
        if self._discard is not None and self._unwanted is not None:
            self._discard.carry_out(partial(discard_draft, self.mailbox, self._unwanted.draft_id))
        if self._change is not None:
            self._change.apply()

    def finish(self, tx: Transaction) -> None:
        """Write the results, and the labels that the messages carry now."""
        if self._discard is not None:
            self._discard.record(tx)
        if self._change is not None:
            self._change.finish(tx)
