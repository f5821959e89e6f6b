"""Past messages for trying a rule, a few at a time: one body may have 200,000 characters."""

from uuid import UUID

from domain.mail.rule_language.trial import PastMail
from domain.mail.triage.automation import HUMAN
from domain.mail.triage.mail_facts import MailFacts
from storage.mail.messages import message_of
from storage.postgres.database import Transaction
from storage.postgres.execution import Row


def earlier(tx: Transaction, account_id: UUID, *, than: PastMail | None, limit: int) -> tuple[PastMail, ...]:
    """The latest incoming messages of an account, or those before one of them, the latest first."""
    before = {"before": than and than.received_at, "before_id": than.message_id if than else ""}
    return tuple(_past(row) for row in tx.run("list_past_mail", account_id=account_id, limit=limit, **before))


def _past(row: Row) -> PastMail:
    message = message_of(row)
    facts = MailFacts(
        message=message.parsed,
        automation=message.automation or HUMAN,
        label_ids=message.label_ids,
        first_contact=row.first_contact,
        thread_has_my_reply=row.thread_has_my_reply,
    )
    return PastMail(message.message_id, message.thread_id, message.received_at, facts)
