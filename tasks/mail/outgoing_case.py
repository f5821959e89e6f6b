"""What the ledger knows of a mail that is to leave, and whether it may (docs: sending.md#who-may-send)."""

from dataclasses import dataclass
from uuid import UUID

from domain.jobs.failures import Forbidden, Gone, Invalid
from domain.jobs.job import Cancel, Outcome, Snooze
from domain.mail.actions.kinds import SENDING, ActionKind
from domain.mail.actions.requested_action import AutoReply, Forward
from domain.mail.actions.status import ActionStatus
from domain.mail.outgoing.automatic_answers import why_not
from domain.mail.outgoing.composing import subject_of
from domain.mail.outgoing.send_orders import ActionContext, check_people, check_words, send_order
from domain.payloads.outbound import SendPayload
from engine.context import JobContext
from storage.accounts import accounts
from storage.accounts.accounts import Account
from storage.actions import actions
from storage.actions.actions import StoredAction
from storage.mail import messages
from storage.mail.messages import Message
from storage.outgoing import outgoing_mails
from storage.outgoing.outgoing_mails import MailRecord
from storage.postgres.database import Transaction

_TYPES = {ActionKind.FORWARD: "forward", ActionKind.AUTO_REPLY: "reply"}
NOT_ALLOWED = "outbound.not_allowed"


@dataclass(frozen=True, slots=True)
class OutgoingCase:
    """An order whose action, account and original belong together, and what has been done of it."""

    order: SendPayload
    account: Account
    action: StoredAction
    original: Message | None
    """None for a new mail."""
    mail: MailRecord | None
    """What an earlier attempt has written down."""
    automatic: bool
    """Whether nobody has approved it."""

    @property
    def here(self) -> UUID:
        """The account's id."""
        return self.account.account_id

    @property
    def thread_id(self) -> str | None:
        """The thread that the mail goes into: a reply's, and no other's."""
        return self.original.thread_id if self.original and self.order.message_type == "reply" else None


def read(ctx: JobContext, order: SendPayload) -> OutgoingCase | Outcome:
    """Read everything in one transaction, and take the action up; an outcome when nothing may be sent now.

    Raises `Invalid` with the field of what does not belong together, and `Forbidden` for what may not leave.
    """
    with ctx.tx() as tx:
        case = _checked(tx, order)
        if case.mail is not None and case.mail.sent_message_id is not None:
            return case
        stopped = _stopped(ctx, tx, case)
        if stopped is not None:
            return stopped
        if not actions.begin(tx, order.action_id, ctx.job.job_id):
            raise Forbidden("action_id: another job executes the action", code="action.taken")
    # The action is this job's by now: a refusal ends both.
    _refuse_automatic(case)
    return case


def _checked(tx: Transaction, order: SendPayload) -> OutgoingCase:
    try:
        account = accounts.get(tx, order.account_id)
    except Gone:
        raise Invalid("payload.account_id", "is no account of this org") from None
    action = actions.find(tx, order.action_id)
    if action is None or action.account_id != account.account_id:
        raise Invalid("payload.action_id", "is no action of this account")
    if action.kind not in SENDING:
        raise Invalid("payload.action_id", f"is an action of the kind {action.kind}, which sends nothing")
    if order.message_type not in {"new", _TYPES[action.kind]}:
        raise Invalid("payload.message_type", f"does not fit the action, which is a {action.kind}")
    original = None if order.original_message_id is None else _original(tx, order, action)
    mail = outgoing_mails.get(tx, account.account_id, order.action_id)
    automatic = mail.automatic if mail else _is_automatic(action)
    if mail is None or mail.sent_message_id is None:
        _check_order(tx, order, account, action, automatic=automatic)
    return OutgoingCase(order, account, action, original, mail, automatic)


def _original(tx: Transaction, order: SendPayload, action: StoredAction) -> Message:
    if order.original_message_id != action.message_id:
        raise Invalid("payload.original_message_id", "is another message than the action's")
    try:
        original = messages.get(tx, order.account_id, action.message_id)
    except Gone:
        raise Invalid("payload.original_message_id", "is no stored message of this account, or was deleted") from None
    if order.message_type == "reply" and order.thread_id not in {None, original.thread_id}:
        raise Invalid("payload.thread_id", "is another thread than the original's")
    subject_of(order, original.parsed)
    return original


def _check_order(
    tx: Transaction, order: SendPayload, account: Account, action: StoredAction, *, automatic: bool
) -> None:
    """Refuse other people or other words than the action's: what was approved is what is sent."""
    wanted = action.action
    if not isinstance(wanted, Forward | AutoReply):
        raise TypeError(f"nothing is sent for {action.kind}")
    try:
        about = messages.get(tx, account.account_id, action.message_id)
    except Gone:
        raise Invalid("payload.action_id", "is about a message that was deleted") from None
    place = ActionContext(account.account_id, action.action_id, about.message_id, about.thread_id, about.parsed)
    asked = send_order(wanted, place, account.addresses)
    check_words(order, asked, about.parsed)
    # Whom an answer reaches that nobody approved, `why_not` says.
    if isinstance(wanted, Forward) or not automatic:
        check_people(order, asked)


def _is_automatic(action: StoredAction) -> bool:
    """Whether neither a person has approved the action, nor a caller outside the fleet has asked for it."""
    asked_by_somebody = action.requested_by is not None and action.requested_by.startswith(("user:", "api_key:"))
    return action.approver is None and not asked_by_somebody


def _refuse_automatic(case: OutgoingCase) -> None:
    if not case.automatic:
        return
    if not case.account.settings.send_allowed:
        raise Forbidden("the account does not let mail leave that nobody has approved", code=NOT_ALLOWED)
    parsed = None if case.original is None else case.original.parsed
    automation = None if case.original is None else case.original.automation
    reason = why_not(case.order, parsed, automation, case.account.addresses)
    if reason is not None:
        raise Forbidden(f"not without approval: {reason}", code=NOT_ALLOWED)


def _stopped(ctx: JobContext, tx: Transaction, case: OutgoingCase) -> Outcome | None:
    """Why nothing is sent now although everything fits."""
    state = case.action.state
    if state is ActionStatus.APPROVED_PENDING:
        raise Forbidden("action_id: the action waits for a person's approval", code="action.not_approved")
    if state in {ActionStatus.DENIED, ActionStatus.EXPIRED, ActionStatus.CANCELED, ActionStatus.UNDONE}:
        return Cancel(f"the action is {state}")
    if state is ActionStatus.DONE:
        return Cancel("the action is done")
    until = outgoing_mails.paused_until(tx, case.here)
    return None if until is None else Snooze(max(until, ctx.now()), "the mailbox may send no more mail for a while")
