"""Carries a plan out on one thread of one mailbox, for one job, and stores the result.

The job has read and planned before. Label changes take three steps, so that no call is made inside a transaction:
`prepare` asks the provider what the thread carries, `begin` writes the intent, `apply` makes the calls. `finish` writes
the result in the transaction that settles the job. A draft that is to be discarded goes the same way.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial

from domain.jobs.effects import Strategy
from domain.jobs.failures import Permanent, Transient
from domain.jobs.job import JsonObject
from domain.mail.correspondence import LabelPlan, LabelRole
from domain.mail.mailbox import DRAFT, INBOX, ThreadFacts
from domain.mail.thread_plan import ThreadPlan
from engine.context import JobContext
from engine.effects import EffectGuard
from providers.ports import Mailbox
from storage.accounts import expected_writes
from storage.accounts.accounts import Account
from storage.accounts.expected_writes import ExpectedWrite
from storage.mail import messages
from storage.mail.emails import MadeDraft
from storage.postgres.database import Transaction
from tasks.mail import machine_drafts, mailbox_labels
from tasks.mail.mailbox_session import check_connected, open_mailbox

INVALID_LABEL = "gmail.invalidArgument"
"""What Gmail answers when a label id names nothing any more."""


@dataclass(frozen=True, slots=True)
class LabelChange:
    """What makes a thread carry the labels of a plan: `wrong` are the messages that have to be changed.

    Labels go on messages one by one, because a draft message can carry none; drafts are not among the `shown`.
    """

    add: frozenset[str]
    remove: frozenset[str]
    shown: frozenset[str] = frozenset()
    wrong: Mapping[str, tuple[frozenset[str], frozenset[str]]] = field(default_factory=dict)
    """By message id: the labels it lacks, and those it has too many."""

    def echo(self) -> list[ExpectedWrite]:
        """What the calls will send back as history."""
        added = [
            ExpectedWrite("labels_added", message_id=message_id, label_id=label_id)
            for message_id, (missing, _) in self.wrong.items()
            for label_id in sorted(missing)
        ]
        removed = [
            ExpectedWrite("labels_removed", message_id=message_id, label_id=label_id)
            for message_id, (_, unwanted) in self.wrong.items()
            for label_id in sorted(unwanted)
        ]
        return added + removed


NOTHING = LabelChange(frozenset(), frozenset())


@contextmanager
def open_thread(
    ctx: JobContext, account: Account, thread_id: str, label_ids: Mapping[LabelRole, str], *, purpose: str = ""
) -> Iterator["ThreadHandle"]:
    """Make a handle whose mailbox is opened when it is first needed; `label_ids` are those of our labels.

    A job that changes a thread's labels more than once names the `purpose` of each change. Raises as `check_connected`.
    """
    check_connected(account)
    with ExitStack() as stack:
        yield ThreadHandle(ctx, account, thread_id, label_ids, stack, purpose)


class ThreadHandle:
    """One thread and the label change in progress on it."""

    def __init__(
        self,
        ctx: JobContext,
        account: Account,
        thread_id: str,
        label_ids: Mapping[LabelRole, str],
        stack: ExitStack,
        purpose: str = "",
    ) -> None:
        """Nothing is asked or opened yet."""
        self._purpose = purpose
        self._ctx = ctx
        self._account = account
        self._thread_id = thread_id
        self._label_ids = dict(label_ids)
        self._stack = stack
        self._mailbox: Mailbox | None = None
        self._change = NOTHING
        self._read: ThreadFacts | None = None
        self._effect: EffectGuard | None = None
        self._unwanted: MadeDraft | None = None
        self._discard: EffectGuard | None = None
        self.history_id: int | None = None
        """The thread's history id when it was last read for its labels."""

    def carries(self, role: LabelRole) -> bool:
        """Whether a message of the thread carries a label of ours now, by what the mailbox says."""
        label_id = self._label_ids.get(role)
        return label_id is not None and any(
            label_id in message.label_ids for message in self.mailbox.thread(self._thread_id).messages
        )

    @property
    def mailbox(self) -> Mailbox:
        """The thread's mailbox; raises what `open_mailbox` raises."""
        if self._mailbox is None:
            self._mailbox = self._stack.enter_context(open_mailbox(self._ctx, self._account))
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
        if self._change is not NOTHING or self._unwanted is not None:
            with self._ctx.tx() as tx:
                self.begin(tx)
            self.apply()

    def forget(self) -> None:
        """Forget a change whose result is committed; another may follow in the same job."""
        self._change, self._effect, self._unwanted, self._discard = NOTHING, None, None, None

    def prepare(self, plan: LabelPlan) -> None:
        """Find out which messages have to be changed; creates those of our labels that the mailbox lacks."""
        missing = plan.add - self._label_ids.keys()
        if missing:
            self._label_ids |= mailbox_labels.create(self._ctx, self.mailbox, self._account, missing)
        add = frozenset(self._label_ids[role] for role in plan.add)
        remove = frozenset(self._label_ids[role] for role in plan.remove if role in self._label_ids)
        if plan.archive:
            remove |= {INBOX}
        self.prepare_ids(add, remove)

    def prepare_ids(self, add: frozenset[str], remove: frozenset[str] = frozenset()) -> None:
        """Find out which messages have to be changed to carry some labels and not others, by id."""
        if not add and not remove:
            self._change = NOTHING
            return
        thread = self._read = self.mailbox.thread(self._thread_id)
        self.history_id = thread.history_id
        shown = [one for one in thread.messages if DRAFT not in one.label_ids]
        changes = {one.message_id: (add - one.label_ids, remove & one.label_ids) for one in shown}
        wrong = {message_id: change for message_id, change in changes.items() if any(change)}
        self._change = LabelChange(add, remove, frozenset(changes), wrong)

    def begin(self, tx: Transaction) -> None:
        """Store the intents of the discard and of the label change, and the history records of its calls.

        Raises as `JobContext.begin_effect`; where a draft is recorded in the same transaction, `apply` does.
        """
        if self._unwanted is not None:
            key = f"discard:{self._unwanted.draft_id}"
            self._discard = self._ctx.begin_effect(tx, key, Strategy.IDEMPOTENT)
        if self._change is NOTHING:
            return
        purpose = f":{self._purpose}" if self._purpose else ""
        key = f"labels:{self._ctx.job.job_id}:{self._thread_id}{purpose}"
        self._effect = self._ctx.begin_effect(tx, key, Strategy.IDEMPOTENT)
        if self._effect.is_refused:
            return
        expected_writes.expect(tx, self._account.account_id, self._change.echo(), remember=expected_writes.REMEMBER)

    def apply(self) -> None:
        """Discard the draft and change the labels; the intents must be committed."""
        if self._discard is not None and self._unwanted is not None:
            self._discard.carry_out(partial(machine_drafts.discard, self.mailbox, self._unwanted.draft_id))
        if self._effect is None:
            return
        used = self._change.add | self._change.remove
        try:
            self._effect.carry_out(self._modify)
        except Permanent as refusal:
            if refusal.code == INVALID_LABEL and mailbox_labels.have_changed(
                self._ctx, self.mailbox, self._account, used
            ):
                raise Transient("a label of ours was deleted from the mailbox", code="labels.changed") from None
            raise

    def finish(self, tx: Transaction) -> None:
        """Store the result, and the labels that the messages carry now.

        Messages that needed no change are included: an attempt that died may have changed them without storing it.
        """
        for effect in (self._discard, self._effect):
            if effect is not None:
                effect.record(tx)
        change = self._change
        if change.shown:
            messages.change_labels(tx, self._account.account_id, change.shown, add=change.add, remove=change.remove)

    def _modify(self) -> JsonObject:
        for message_id, (missing, unwanted) in self._change.wrong.items():
            self.mailbox.modify_message(message_id, add=sorted(missing), remove=sorted(unwanted))
        return {"changed": len(self._change.wrong)}
