"""An action that a job executes: taken up, its message read, and what an earlier attempt kept of it."""

from dataclasses import dataclass
from uuid import UUID

from domain.jobs.failures import Conflict, Gone, Invalid, Permanent
from domain.jobs.job import Done
from domain.mail.actions.action import Action
from domain.mail.actions.kinds import SENDING, ActionKind
from domain.mail.actions.status import ActionStatus
from domain.mail.actions.undo_hint import UndoHint, read_hint
from domain.payloads.actions import ActionOrder, ExecuteDecidedPayload
from domain.payloads.outbound import AttachmentField
from engine.context import JobContext
from storage.mail import messages
from storage.mail.accounts import accounts, labels
from storage.mail.accounts.accounts import Account
from storage.mail.actions import actions
from storage.mail.actions.actions import StoredAction
from storage.postgres.database import Transaction
from tasks.mail.steps import mailbox_session
from tasks.mail.steps.mailbox_change import DELETED


@dataclass(frozen=True, slots=True)
class ActionCase:
    """An action that this job has taken up, its message, and what an earlier attempt kept."""

    account: Account
    stored: StoredAction
    message: messages.Message
    kept: UndoHint | None
    """The labels from before the first attempt that came to the mailbox."""
    renamed: dict[str, str | None]
    """For labels that the action names: the id that stands for it now, None for one that was deleted."""
    files: tuple[AttachmentField, ...]
    """The files that the action names, with their content."""

    @property
    def key(self) -> str:
        """The key of the action's effect."""
        return f"action:{self.stored.action_id}"

    def before(self, now: frozenset[str]) -> frozenset[str]:
        """The message's labels from before the action, when it carries `now`."""
        kept = self.kept.labels_before if self.kept else None
        return now if kept is None else frozenset(kept)

    def understood(self) -> Action:
        """The action as its class; raises `Permanent` for one that nobody can read.

        That is no fault of the job's payload, and needs no dead letter.
        """
        try:
            return self.stored.action
        except Invalid as refusal:
            raise Permanent(f"parameters.{refusal.reason}", code="action.invalid") from None


def take_up(ctx: JobContext, order: ActionOrder) -> ActionCase | Done:
    """Read the action and begin it; `Done` for one that another job was asked to carry out before this job came to it.

    So it is with a mail that its caller has ordered, and with a decided action that somebody has ordered by name.
    """
    account_id = order.account_id
    with ctx.tx() as tx:
        account = accounts.get(tx, account_id)
        stored = actions.get(tx, account_id, order.action_id)
        mailbox_session.check_connected(account)
        if stored.kind is ActionKind.UNDO:
            raise Conflict("action_id: an undo is executed by actions.undo", code="action.not_ready")
        if not actions.begin(tx, stored.action_id, ctx.job.job_id):
            if (other := _carried_out_by(stored, order)) is not None:
                return Done({"action": str(stored.kind), **other})
            raise Conflict(f"action_id: the action is {stored.state} and cannot be executed", code="action.not_ready")
        named = [one for one in (stored.parameters.get("label_id"),) if isinstance(one, str)]
        renamed = labels.translate(tx, account_id, named)
        message = _message(tx, account_id, stored.message_id)
        files = actions.files(tx, account_id, stored.action_id) if stored.kind in SENDING else ()
    if message is None:
        raise Gone(DELETED, code="action.message_gone")
    kept = None if stored.undo_hint is None else read_hint(stored.undo_hint)
    return ActionCase(account, stored, message, kept, renamed, files)


def _carried_out_by(stored: StoredAction, order: ActionOrder) -> dict[str, str] | None:
    """The other job that carries the action out, or has, where that is no fault of this job's order."""
    if stored.state not in {ActionStatus.EXECUTING, ActionStatus.DONE}:
        return None
    if stored.kind in SENDING:
        return {"sent_by": str(stored.job_id)}
    return {"done_by": str(stored.job_id)} if isinstance(order, ExecuteDecidedPayload) else None


def _message(tx: Transaction, account_id: UUID, message_id: str) -> messages.Message | None:
    try:
        return messages.get(tx, account_id, message_id)
    except Gone:
        return None
