"""Everything a rule may ask about a message, gathered before any rule is asked."""

from dataclasses import dataclass, field
from datetime import timedelta

from domain.mail.parsing.parsed_message import ParsedMessage
from domain.mail.triage.automation import HUMAN, Automation

GMAIL_HOSTS = frozenset({"mx.google.com"})


@dataclass(frozen=True, slots=True)
class MailFacts:
    """One message with what only the mailbox knows of it."""

    message: ParsedMessage
    automation: Automation = HUMAN
    label_ids: frozenset[str] = frozenset()
    age: timedelta = field(default=timedelta())
    """How long ago the mailbox received it."""
    first_contact: bool = False
    """Nobody at this account has had mail from or to the sender before."""
    thread_has_my_reply: bool = False
    trusted_hosts: frozenset[str] = GMAIL_HOSTS
    """Whose Authentication-Results are believed."""
