"""Makes the mail that tests need: accounts with tokens, parsed messages, records."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from pydantic import SecretStr

from domain.mail.parsing.mime import parse_message
from domain.mail.triage.automation import Automation
from domain.mail.triage.automation_signals import AutomationKind, Weight
from domain.mail.triage.classification import Classification, Decision, DecisionSource
from storage.mail import messages
from storage.mail.accounts import accounts
from storage.mail.accounts.accounts import Account, Consent
from storage.mail.messages import Direction, Message
from storage.mail.rules import rules
from storage.mail.rules.rules import Reach
from storage.orgs.secrets.sealing import Sealer
from storage.postgres.database import Database, Transaction

SEALER = Sealer(["a key for tests"])
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
RAW = (
    b"From: Ada <ada@example.org>\r\nTo: Me <me@example.com>, you@example.com\r\nSubject: Lunch?\r\n"
    b"Message-ID: <one@example.org>\r\nDate: Sun, 1 Mar 2026 11:59:00 +0000\r\n\r\nAre you free at one?\r\n"
)
WANTS_ANSWER = Decision(DecisionSource.LLM, Classification.NEEDS_RESPONSE, 0.9, "a question", needs_reply=True)


def make_consent(access: str = "access-1", refresh: str = "refresh-1") -> Consent:
    """Tokens as an owner's consent gives them."""
    return Consent(SecretStr(access), SecretStr(refresh), NOON + timedelta(hours=1), ("gmail.modify",))


def connect_account(tx: Transaction, sealer: Sealer, org: str, email: str, consent: Consent) -> Account:
    """An active mailbox of its own owner, as `connecting.connect` leaves it, with nothing in the audit log.

    Two orgs may have one here: each did before the other was refused.
    """
    account_id, _ = accounts.open_account(tx, accounts.ensure_org(tx, org), email, email, consent.subject)
    accounts.connect(tx, sealer, account_id, consent)
    return accounts.get(tx, account_id)


def make_account(store: Database, *, org: str = "an org", email: str = "me@example.com") -> Account:
    """A connected mailbox; its org and owner are made if new."""
    with store.ledger() as tx:
        return connect_account(tx, SEALER, org, email, make_consent())


def make_message(
    message_id: str = "m1",
    thread_id: str = "t1",
    *,
    raw: bytes = RAW,
    direction: Direction = "incoming",
    minutes: int = 0,
) -> Message:
    """A message in the inbox, received some minutes after noon."""
    return Message(
        message_id=message_id,
        thread_id=thread_id,
        direction=direction,
        received_at=NOON + timedelta(minutes=minutes),
        label_ids=frozenset({"INBOX", "UNREAD"}),
        parsed=parse_message(raw),
        automation=Automation(AutomationKind.HUMAN, Weight.NONE),
    )


def store_message(store: Database, account: Account, message: Message | None = None) -> Message:
    """A message that is stored."""
    message = message or make_message()
    with store.tenant(account.org_id) as tx:
        messages.upsert(tx, account.account_id, message)
    return message


def token_of(version: int) -> UUID:
    """An id for the owner of a refresh lease."""
    return UUID(int=version)


def add_in_words(
    tx: Transaction, org_id: UUID, reach: Reach, *, name: str, content: str, label_ids: tuple[str, ...] = ()
) -> UUID:
    """Save a rule in plain words; `label_ids` are the labels it names."""
    words = rules.columns_of_words("tell", reach, content, name=name, label_ids=label_ids)
    return rules.insert(tx, org_id, words)
