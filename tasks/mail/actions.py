"""The actions family: execute an action on a message, take one back, and bring a snoozed message back.

How an action ends is written with the success of its job, or by the end-of-job hook `action_job_ended` when the job
ends otherwise: no action stays executing (docs: actions.md#statuses).
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from domain.jobs.failures import Conflict, Gone, Invalid, Permanent, Transient
from domain.jobs.job import Done, JsonObject, KeysOf, Outcome, Snooze
from domain.jobs.queues import Queue
from domain.jobs.retry import PERSISTENT
from domain.mail.actions.action import Action, LabelWish
from domain.mail.actions.kinds import Inverse
from domain.mail.actions.label_actions import LabelAction
from domain.mail.actions.requested_action import AutoReply, Delete, Forward, Restore, Trash
from domain.mail.actions.snooze import Snooze as SnoozeAction
from domain.mail.actions.snoozing import (
    PastSnooze,
    check_wake,
    held_until,
    is_given_up,
    is_undecided,
    labels_before,
    plan_unsnooze,
    why_not_wake,
)
from domain.mail.actions.status import ActionStatus
from domain.mail.actions.undo_hint import (
    UndoHint,
    UndoPlan,
    applied,
    change_of,
    check_undoable,
    hint_for,
    kept_away,
    plan_undo,
)
from domain.mail.mailbox import INBOX
from domain.mail.outgoing.send_orders import ActionContext, send_order
from domain.mail.triage.automation import replies_allowed
from domain.payloads.actions import ActionOrder, ExecuteDecidedPayload, ExecutePayload, UndoPayload, UnsnoozePayload
from domain.payloads.outbound import SendPayload
from engine.catalogue import job
from engine.context import JobContext
from providers.ports import Mailbox
from storage.mail.accounts import accounts, labels
from storage.mail.accounts.accounts import Account
from storage.mail.actions import actions, undos
from storage.mail.actions.actions import StoredAction
from storage.postgres.database import Transaction
from tasks.mail.steps import mailbox_session, snoozing
from tasks.mail.steps.action_case import ActionCase, take_up
from tasks.mail.steps.drafts import orders as draft_orders
from tasks.mail.steps.mailbox_change import MailboxChange, Move, WantedChange, labels_of

MOVES = {Inverse.TRASH: Move.TRASH, Inverse.RESTORE: Move.RESTORE}
ON_END = "action_job_ended"
LOOK_AGAIN_AFTER = timedelta(seconds=5)
CONNECTED_AGAIN_AFTER = timedelta(hours=1)
"""How long a message may sleep on after its account was connected again: nobody else would bring it back."""


@job(
    queue=Queue.CRITICAL,
    deadline=timedelta(minutes=3),
    providers=("gmail",),
    on_end=ON_END,
    **mailbox_session.OF_MAILBOX,
)
def execute(ctx: JobContext, payload: ExecutePayload) -> Outcome:
    """Execute an action that a person ordered or approved, and keep how it is taken back."""
    return _execute(ctx, payload)


@job(
    queue=Queue.DEFAULT,
    deadline=timedelta(minutes=3),
    providers=("gmail",),
    on_end=ON_END,
    **mailbox_session.OF_MAILBOX,
)
def execute_decided(ctx: JobContext, payload: ExecuteDecidedPayload) -> Outcome:
    """Execute an action that a rule, the model or an agent decided on, as `actions.execute` does."""
    return _execute(ctx, payload)


def _execute(ctx: JobContext, payload: ActionOrder) -> Outcome:
    case = take_up(ctx, payload)
    if isinstance(case, Done):
        return case
    action = case.understood()
    if isinstance(action, Forward | AutoReply):
        return _hand_to_outbound(ctx, case, action)
    with mailbox_session.open_mailbox(ctx, case.account) as mailbox:
        if isinstance(action, SnoozeAction):
            return _snooze(ctx, mailbox, case, action)
        return _change(ctx, mailbox, case, action)


def _change(ctx: JobContext, mailbox: Mailbox, case: ActionCase, action: Action) -> Outcome:
    change = _planned(case, action)
    message_id = case.message.message_id
    # An earlier attempt may have deleted the message: then there are no labels to look at.
    may_be_deleted = case.kept is not None and change.move is Move.DELETE
    now = case.before(frozenset()) if may_be_deleted else labels_of(mailbox, message_id)
    before = case.before(now)

    def intend(tx: Transaction) -> None:
        actions.keep_hint(tx, case.stored.action_id, ctx.job.job_id, hint_for(action, before, before))

    changed = MailboxChange(ctx, mailbox, case.account, change, {message_id: now}, case.key).carry_out(intend)
    after = applied(before, change_of(before, change.labels)) if change.move is None else changed.after[message_id]
    hint = hint_for(action, before, after)

    def write(tx: Transaction) -> None:
        lost = changed.finish(tx)()
        actions.finish(tx, case.stored.action_id, ctx.job.job_id, hint)
        draft_orders.withdraw_after(ctx, tx, changed, lost)

    return Done({"action": str(action.kind), "inverse": str(hint.inverse_action)}, writes=write)


def _planned(case: ActionCase, action: Action) -> WantedChange:
    match action:
        case Trash():
            return WantedChange(Move.TRASH)
        case Restore():
            return WantedChange(Move.RESTORE)
        case Delete():
            return WantedChange(Move.DELETE)
        case LabelAction():
            return WantedChange(labels=_live(action.wish, case.renamed))
    raise TypeError(f"nobody executes {action.kind}")


def _live(wish: LabelWish, renamed: dict[str, str | None]) -> LabelWish:
    """The wish with the ids that the labels have now; raises `Permanent` for a label that was deleted."""

    def live(label_id: str) -> str:
        now = renamed.get(label_id, label_id)
        if now is None:
            raise Permanent(f"label_id: label {label_id} was deleted from the mailbox", code="action.label_gone")
        return now

    return LabelWish(frozenset(map(live, wish.add)), frozenset(map(live, wish.remove)))


def _snooze(ctx: JobContext, mailbox: Mailbox, case: ActionCase, action: SnoozeAction) -> Outcome:
    """Take the message out of the inbox; the job that brings it back is enqueued before.

    Whatever becomes of this job, the message comes back: also when a job that led to it is canceled with all below it.
    """
    until = snoozing.wakes_at(action, case.kept, ctx.now())
    message_id = case.message.message_id
    now = labels_of(mailbox, message_id)
    label = snoozing.label(ctx, mailbox, case.account)
    before = case.before(now)
    wish = LabelWish(frozenset({label.label_id}), frozenset({INBOX}))
    hint = hint_for(action, before, applied(before, change_of(before, wish))).model_copy(
        update={"snooze_until": until, "snooze_label": label.name, "snooze_label_id": label.label_id}
    )
    wake = UnsnoozePayload(
        account_id=case.account.account_id,
        message_id=message_id,
        action_id=case.stored.action_id,
        snooze_label_id=label.label_id,
    )

    def intend(tx: Transaction) -> None:
        made = ctx.enqueue_owed(tx, wake, run_at=until)
        actions.keep_hint(tx, case.stored.action_id, ctx.job.job_id, snoozing.with_wake(hint, made.job_id))

    changed = MailboxChange(
        ctx, mailbox, case.account, WantedChange(labels=wish), {message_id: now}, case.key
    ).carry_out(intend)

    def write(tx: Transaction) -> None:
        changed.finish(tx)
        actions.finish(tx, case.stored.action_id, ctx.job.job_id)

    return Done({"action": str(action.kind), "until": until.isoformat()}, writes=write)


def _hand_to_outbound(ctx: JobContext, case: ActionCase, action: Forward | AutoReply) -> Outcome:
    """Leave the sending, and the action with it, to `outbound.send`."""
    mail = _mail(case, action)

    def write(tx: Transaction) -> None:
        (made,) = ctx.enqueue(tx, mail)
        if not made.created:
            # A client has ordered the mail before: that order is refused by now, or will be, for the action is this
            # job's. What has left of the mail is found by the action, whichever job sends it.
            (made,) = ctx.enqueue(tx, mail, idempotency_key=f"{case.key}:{ctx.job.job_id}", keys_of=KeysOf.FLEET)
        actions.hand_over(tx, case.stored.action_id, ctx.job.job_id, to_job=made.job_id)

    return Done({"action": str(action.kind), "handed_to": SendPayload.declaration.job_type}, writes=write)


def _mail(case: ActionCase, action: Forward | AutoReply) -> SendPayload:
    message = case.message
    automation = message.automation
    if isinstance(action, AutoReply) and automation is not None and not replies_allowed(automation):
        raise Permanent("automated mail is not answered: the answer could be answered", code="action.automated_mail")
    about = ActionContext(
        case.account.account_id, case.stored.action_id, message.message_id, message.thread_id, message.parsed
    )
    return send_order(action, about, case.account.addresses, case.files)


@job(
    queue=Queue.CRITICAL,
    deadline=timedelta(minutes=3),
    providers=("gmail",),
    on_end=ON_END,
    **mailbox_session.OF_MAILBOX,
)
def undo(ctx: JobContext, payload: UndoPayload) -> Outcome:
    """Take a done action back: restore the labels from before it."""
    undoing = _begin_undo(ctx, payload)
    original, hint, began_at = undoing.original, undoing.hint, ctx.now()
    with mailbox_session.open_mailbox(ctx, undoing.account) as mailbox:
        now = labels_of(mailbox, original.message_id)
        plan = undoing.plan(began_at)
        wish = plan.labels if plan.move else kept_away(plan.labels, now)
        change = WantedChange(MOVES.get(plan.move) if plan.move else None, undoing.live(wish))
        key = f"undo:{undoing.undo_id}"
        changed = MailboxChange(ctx, mailbox, undoing.account, change, {original.message_id: now}, key).carry_out()
    output: JsonObject = {"undone": str(hint.action), "undo_action_id": str(undoing.undo_id)}
    if (held := undoing.held_until(began_at)) is not None:
        why = f"a later snooze keeps the message until {held.isoformat()}"
        output |= {"changed": bool(plan.labels.remove), "why": why}

    def write(tx: Transaction) -> JsonObject | None:
        wake = hint.inverse_parameters.cancel_unsnooze_job_id
        # Before the message: in that order the waking job locks them, too.
        added = None if wake is None else {"unsnooze": str(undos.cancel_wake(tx, ctx.job, wake))}
        if undoing.plan_now(tx, ctx.now()) != plan:
            raise Transient("another snooze of the message has fallen due meanwhile", code="action.changed")
        lost = changed.finish(tx)()
        undos.finish(tx, original.action_id, undoing.undo_id, ctx.job.job_id)
        draft_orders.withdraw_after(ctx, tx, changed, lost)
        draft_orders.order_again(ctx, tx, changed)
        return added

    return Done(output, writes=write)


@dataclass(frozen=True, slots=True)
class BegunUndo:
    """An undo that this job has begun, or goes on with."""

    account: Account
    original: StoredAction
    hint: UndoHint
    undo_id: UUID
    renamed: dict[str, str | None]
    snoozes: tuple[PastSnooze, ...]
    """The message's snoozes, this one too when it is one."""

    @property
    def _snooze(self) -> PastSnooze | None:
        return next((one for one in self.snoozes if one.action_id == self.original.action_id), None)

    def plan(self, now: datetime) -> UndoPlan:
        """What is to be changed on the message."""
        if self._snooze is None:
            return plan_undo(self.hint)
        return plan_unsnooze(self._snooze, self.hint, self.snoozes, now)

    def plan_now(self, tx: Transaction, now: datetime) -> UndoPlan:
        """The plan by the snoozes as they stand in this transaction; none of them wakes the message until it ends."""
        account_id, message_id = self.account.account_id, self.original.message_id
        if self._snooze is None:
            return self.plan(now)
        return replace(self, snoozes=snoozing.snoozes_of(tx, account_id, message_id)).plan(now)

    def held_until(self, now: datetime) -> datetime | None:
        """Until when a later snooze keeps the message, so that it does not come back."""
        return held_until(self._snooze, self.snoozes, now) if self._snooze else None

    def live(self, wish: LabelWish) -> LabelWish:
        """The wish with the ids that the labels have now; a deleted label need not be taken off."""
        gone = {label_id for label_id, now in self.renamed.items() if now is None}
        return _live(LabelWish(wish.add, wish.remove - gone), self.renamed)


def _begin_undo(ctx: JobContext, payload: UndoPayload) -> BegunUndo:
    account_id = payload.account_id
    asked_by = f"{ctx.job.origin.actor_type}:{ctx.job.origin.actor_id}"
    with ctx.tx() as tx:
        account = accounts.get(tx, account_id)
        original = actions.get(tx, account_id, payload.original_action_id)
        try:
            hint = check_undoable(original.kind, original.state, original.undo_hint)
        except Invalid as refusal:
            raise Permanent(f"undo_hint.{refusal.reason}", code="action.not_undoable") from None
        begun = undos.begin(tx, account_id, original.action_id, ctx.job.job_id, requested_by=asked_by)
        # A retry goes on with its own, and what has failed may be tried again; somebody else's is theirs.
        if not begun.created and not actions.begin(tx, begun.undo_id, ctx.job.job_id):
            other = actions.get(tx, account_id, begun.undo_id)
            raise Conflict(f"action {other.action_id} undoes it, and is {other.state}", code="action.not_undoable")
        named = {*hint.inverse_parameters.add_labels, *hint.inverse_parameters.remove_labels, hint.snooze_label_id}
        renamed = labels.translate(tx, account.account_id, sorted(filter(None, named)))
        snoozes = snoozing.snoozes_of(tx, account.account_id, original.message_id)
        return BegunUndo(account, original, hint, begun.undo_id, renamed, snoozes)


@job(
    queue=Queue.DEFAULT,
    retry=PERSISTENT,
    deadline=timedelta(minutes=3),
    providers=("gmail",),
    **mailbox_session.OF_MAILBOX,
)
def unsnooze(ctx: JobContext, payload: UnsnoozePayload) -> Outcome:
    """Bring a snoozed message back to the inbox, unless its person has thrown it away meanwhile."""
    account_id = payload.account_id
    with ctx.read(locks=True) as tx:
        # An undo of another snooze of the message is waited for.
        accounts.lock(tx, account_id)
        account = accounts.get(tx, account_id)
        snoozed = actions.get(tx, account_id, payload.action_id)
        hint = snoozing.hint_of(snoozed)
        check_wake(payload, snoozed.kind, snoozed.message_id, hint)
        others = snoozing.snoozes_of(tx, account.account_id, payload.message_id)
        label_id = payload.snooze_label_id or snoozing.known_label(tx, account)
        renamed = labels.translate(tx, account.account_id, [label_id] if label_id else [])
    past = snoozing.as_past(snoozed, hint)
    if is_undecided(past, others):
        return Snooze(ctx.now() + LOOK_AGAIN_AFTER, "a snooze of the message is still being carried out")
    if (reason := why_not_wake(past, others)) is not None:
        return Done({"restored": False, "why": reason})
    live = renamed.get(label_id, label_id) if label_id else None
    # Those of earlier snoozes, too: their own jobs have left the message to this one.
    wish = LabelWish(frozenset({INBOX}), frozenset({live} if live else ()) | labels_before(past, others))
    try:
        with mailbox_session.open_mailbox(ctx, account) as mailbox:
            now = labels_of(mailbox, payload.message_id)
            if snoozed.state is not ActionStatus.DONE and live not in now:
                return Done({"restored": False, "why": f"the snooze is {snoozed.state} and did not happen"})
            # By job: a job that is done again brings the message back again.
            key = f"unsnooze:{ctx.job.job_id}"
            carried, change = {payload.message_id: now}, WantedChange(labels=kept_away(wish, now))
            changed = MailboxChange(ctx, mailbox, account, change, carried, key).carry_out()
    except Gone:
        return Done({"restored": False, "why": "the message was deleted"})
    except mailbox_session.Disconnected:
        if is_given_up(past, ctx.now()):
            raise
        return Snooze(ctx.now() + CONNECTED_AGAIN_AFTER, "the account is disconnected")

    def write(tx: Transaction) -> None:
        changed.finish(tx)

    return Done({"restored": change.labels == wish}, writes=write)
