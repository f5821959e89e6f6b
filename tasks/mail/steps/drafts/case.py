"""What the ledger knows of a thread that wants a draft, read in one transaction."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from domain.mail.correspondence import LabelRole
from domain.mail.mailbox import BINS
from domain.mail.replies.replies import Original
from domain.mail.replies.voice import Voice
from domain.mail.triage.prompts import Guidance
from domain.payloads.drafts import WritePayload
from storage.mail import emails, messages
from storage.mail.accounts import accounts, labels, voices
from storage.mail.accounts.accounts import Account
from storage.mail.emails import Email
from storage.mail.messages import Message
from storage.mail.rules import rules
from storage.postgres.database import Transaction


@dataclass(frozen=True, slots=True)
class DraftCase:
    """A thread with its record and at least one message, oldest first."""

    account: Account
    email: Email
    messages: tuple[Message, ...]
    guidance: Guidance
    label_ids: dict[LabelRole, str]
    voice: Voice | None = None
    """How the owner writes, where that was learned."""
    by_label: bool = False
    """Whether a label on the thread ordered the rework at hand, and no service."""

    @property
    def asked(self) -> Message:
        """The message to answer: the last that came in, or else the last of the account's own."""
        return next((one for one in reversed(self.messages) if one.direction == "incoming"), self.messages[-1])

    @property
    def original(self) -> Original:
        """What a reply needs to know of it; raises `Invalid` when a person has to choose whom to answer."""
        return original_of(self.account, self.asked, self.messages)

    @property
    def answered(self) -> bool:
        """Whether the person has written last; for a draft that they asked for by hand, since they asked."""
        last = self.messages[-1]
        if last.direction != "outgoing":
            return False
        asked_at = self.email.by_hand_at
        return asked_at is None or last.received_at > asked_at

    @property
    def thrown_away(self) -> bool:
        """Whether the message to answer lies in the trash or in spam; of a draft by hand, the person knows better."""
        return self.email.by_hand_at is None and bool(self.asked.label_ids & BINS)

    def wants_since(self, moment: datetime) -> bool:
        """Whether the message that the record waits to answer came after a moment."""
        wanted = next((one for one in self.messages if one.message_id == self.email.message_id), None)
        return wanted is not None and wanted.received_at > moment

    @property
    def newest(self) -> str:
        """The id of the message that was the thread's last when the case was read."""
        return self.messages[-1].message_id

    @property
    def again(self) -> WritePayload:
        """The same task for a new job, which reads the thread and asks the model anew.

        An order by hand stands in the record: `drafts.write_manual` would take the new job for a later order.
        """
        account_id, thread_id = self.email.account_id, self.email.thread_id
        return WritePayload(account_id=account_id, thread_id=thread_id, message_id=self.asked.message_id)


def original_of(account: Account, asked: Message, thread: Sequence[Message]) -> Original:
    """What a reply needs to know of a message; raises `Invalid` when a person has to choose whom to answer."""
    return Original.of(asked.parsed, [one.parsed for one in thread], account.addresses)


def read_case(tx: Transaction, account_id: UUID, thread_id: str) -> DraftCase | None:
    """Read a thread's case; None when the thread has no record, or no message that is stored."""
    asked = ask_for_case(tx, account_id, thread_id)
    return None if asked is None else asked()


def ask_for_case(tx: Transaction, account_id: UUID, thread_id: str) -> Callable[[], DraftCase] | None:
    """The same, of which the last part is wanted later."""
    ask_email, ask_thread = (
        emails.ask_for(tx, account_id, thread_id),
        messages.ask_for_thread(tx, account_id, thread_id),
    )
    ask_account, ask_voice = accounts.ask_for(tx, account_id), voices.find(tx, account_id)
    ask_labels = labels.ask_for_all(tx, account_id)
    email, thread = ask_email.answer, ask_thread.answer
    if email is None or not thread:
        return None
    account, learned = ask_account.answer, ask_voice.answer
    guidance = rules.guidance(tx, account_id, thread[-1].parsed.from_)
    return lambda: DraftCase(
        account=account,
        email=email,
        messages=thread,
        guidance=guidance.answer,
        label_ids=labels.by_role(ask_labels.answer),
        voice=learned.voice if learned else None,
    )
