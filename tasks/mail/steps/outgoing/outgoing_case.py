"""What the ledger knows of a mail that is to leave; whether it may is decided in `domain/mail/outgoing/`."""

from dataclasses import dataclass
from uuid import UUID

from domain.jobs.failures import Forbidden, Gone, Invalid
from domain.jobs.job import Outcome
from domain.mail.actions.action_files import check_files
from domain.mail.actions.requested_action import AutoReply, Forward, files_of
from domain.mail.outgoing.send_orders import ActionContext, check_conversation, check_people, check_words, send_order
from domain.mail.outgoing.send_permission import (
    NO_ACTION,
    ActionFacts,
    OriginalFacts,
    check_action,
    check_automatic,
    check_original,
    is_automatic,
    why_stopped,
)
from domain.payloads.outbound import SendPayload
from engine.context import JobContext
from storage.mail import messages, outgoing_mails
from storage.mail.accounts import accounts
from storage.mail.accounts.accounts import Account
from storage.mail.actions import actions
from storage.mail.actions.actions import StoredAction
from storage.mail.messages import Message
from storage.mail.outgoing_mails import MailRecord
from storage.postgres.database import Transaction


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
    def account_id(self) -> UUID:
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
        stopped = why_stopped(case.action.state, outgoing_mails.paused_until(tx, case.account_id), ctx.now())
        if stopped is not None:
            return stopped
        if not actions.begin(tx, order.action_id, ctx.job.job_id):
            raise Forbidden("action_id: another job executes the action", code="action.taken")
    # The action is this job's by now: a refusal ends both.
    if case.automatic:
        original = _as_original(case.original) if case.original else None
        allowed = case.account.settings.send_allowed
        check_automatic(order, original, case.account.addresses, send_allowed=allowed)
    return case


def _checked(tx: Transaction, order: SendPayload) -> OutgoingCase:
    try:
        account = accounts.get(tx, order.account_id)
    except Gone:
        raise Invalid("payload.account_id", "is no account of this org") from None
    found = actions.find(tx, order.action_id)
    if found is None:
        raise Invalid("payload.action_id", NO_ACTION)
    ordered = _ordered(found)
    check_action(order, ordered)
    original = None if order.original_message_id is None else _stored_original(tx, order)
    if original is not None:
        check_original(order, _as_original(original))
    mail = outgoing_mails.get(tx, account.account_id, order.action_id)
    automatic = mail.automatic if mail else is_automatic(ordered)
    if mail is None or mail.sent_message_id is None:
        _check_order(tx, order, account, found, automatic=automatic)
    return OutgoingCase(order, account, found, original, mail, automatic)


def _ordered(action: StoredAction) -> ActionFacts:
    return ActionFacts(
        account_id=action.account_id,
        kind=action.kind,
        message_id=action.message_id,
        status=action.state,
        approver=action.approver,
        requested_by=action.requested_by,
    )


def _as_original(message: Message) -> OriginalFacts:
    return OriginalFacts(message.thread_id, message.parsed, message.automation)


def _stored_original(tx: Transaction, order: SendPayload) -> Message:
    try:
        return messages.get(tx, order.account_id, order.original_message_id or "")
    except Gone:
        raise Invalid("payload.original_message_id", "is no stored message of this account, or was deleted") from None


def _check_order(
    tx: Transaction, order: SendPayload, account: Account, action: StoredAction, *, automatic: bool
) -> None:
    """Refuse other people, words or files than the action's: what was approved is what is sent."""
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
    check_conversation(order, about.parsed)
    check_files(order.attachments, files_of(wanted))
    # Whom an answer reaches that nobody approved, `why_not` says.
    if isinstance(wanted, Forward) or not automatic:
        check_people(order, asked)
