"""The question that an action asks, read with its message and mailbox."""

from domain.approvals.question import AskedAction, Question, question_of
from domain.jobs.failures import Gone
from storage.accounts import accounts
from storage.actions.actions import StoredAction
from storage.mail import messages
from storage.postgres.database import Transaction


def of_action(tx: Transaction, stored: StoredAction, number: int) -> Question:
    """The question in words; of a message that was deleted meanwhile, it says so."""
    account = accounts.get(tx, stored.account_id)
    sender, subject = "", "the message was deleted"
    try:
        parsed = messages.get(tx, stored.account_id, stored.message_id).parsed
        sender, subject = parsed.from_.key if parsed.from_ else "", parsed.subject or ""
    except Gone:
        pass
    asked = AskedAction(
        action_id=stored.action_id,
        kind=stored.kind,
        parameters=stored.parameters,
        reasons=stored.reasons,
        expires_at=stored.approval_expires_at or stored.created_at,
        mailbox=account.email,
        sender=sender,
        subject=subject,
    )
    return question_of(asked, number=number)
