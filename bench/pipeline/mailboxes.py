"""Mailboxes full of the demo's real mail, in emulators of Gmail and of Anthropic that run in processes of their own."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from domain.mail.correspondence import DEFAULT_PARENT, LabelRole, label_name
from domain.mail.mailbox import INBOX, UNREAD
from providers.google.gmail import GmailMailbox
from sandbox.demo.addresses import Addresses
from sandbox.demo.fleet import stop_together
from sandbox.demo.mail_headers import RawMessage
from sandbox.demo.mailbox_story import Delivery, tell_story
from sandbox.demo.processes import emulators
from sandbox.emulator.client import EmulatorControl
from sandbox.emulator.control import GmailControl
from sandbox.servers.waiting import wait_until

READY_S = 60.0
MAILBOXES = 11
"""A number that shares no factor with the 60 messages of the demo, so that every mailbox gets all of them in turn."""
LABELS = (LabelRole.NEEDS_RESPONSE, LabelRole.OUTBOX)
"""The labels that the pipeline puts on; the others of ours are made by ours only, before the clock starts."""
CALLS = ("messages.get", "threads.get", "messages.modify", "drafts.create", "messages.create")
"""The calls of the pipeline's own handlers, the last one of the model."""


@dataclass(frozen=True)
class Box:
    """One mailbox, as a contender gets to know it."""

    email: str
    access_token: str
    label_ids: dict[LabelRole, str]


@dataclass(frozen=True)
class Arrived:
    """A message in a mailbox: the mailbox's place among all, and Gmail's id."""

    box: int
    message_id: str


class Mailboxes:
    """The emulators of a run, and the mail in them; every run begins with the same mail anew."""

    def __init__(self, gmail_url: str, anthropic_url: str) -> None:
        """Use running emulators."""
        self.gmail_url, self.anthropic_url = gmail_url, anthropic_url
        self._gmail, self._anthropic = GmailControl(gmail_url), EmulatorControl(anthropic_url)

    def refill(self, messages: int) -> tuple[tuple[Box, ...], Sequence[Arrived]]:
        """Empty all mailboxes and deliver this many messages to them in turn."""
        self._gmail.reset()
        self._anthropic.reset()
        emails = [f"owner-{number}@postroom.example" for number in range(MAILBOXES)]
        tokens = [f"access-{number}" for number in range(MAILBOXES)]
        accounts = [
            self._gmail.create_account(email, token, f"refresh-{number}", seed=number)
            for number, (email, token) in enumerate(zip(emails, tokens, strict=True))
        ]
        boxes = tuple(Box(email, token, self._label(token)) for email, token in zip(emails, tokens, strict=True))
        now = datetime.now(UTC)
        stories = [list(tell_story(now, owner=email)) for email in emails]
        arrived = []
        for number in range(messages):
            box = number % MAILBOXES
            told = stories[box][number % len(stories[box])]
            at = int(told.at.timestamp() * 1000)
            place = accounts[box].deliver(_alone(told, number), label_ids=[INBOX, UNREAD], internal_date=at)
            arrived.append(Arrived(box, place.message_id))
        for account in accounts:
            account.turn(quota_per_minute=None, concurrency=None)
        return boxes, arrived

    def calls(self) -> dict[str, int]:
        """How often the pipeline's calls were made since the mailboxes were filled."""
        made = Counter(call.operation for control in (self._gmail, self._anthropic) for call in control.journal())
        return {name: made[name] for name in CALLS}

    def _label(self, access_token: str) -> dict[LabelRole, str]:
        with GmailMailbox(
            account="bench", access_token=access_token, timeout_s=READY_S, meter=_unmetered, endpoint=self.gmail_url
        ) as mailbox:
            mailbox.create_label(DEFAULT_PARENT)
            return {role: mailbox.create_label(label_name(role)).label_id for role in LABELS}


@contextmanager
def running_mailboxes(folder: Path) -> Iterator[Mailboxes]:
    """Start both emulators, each as a process of its own, whose CPU is nobody's."""
    addresses = Addresses.choose(database="", broker="")
    members = [member for member in emulators(addresses, folder) if member.name != "discord"]
    try:
        for member in members:
            member.process.start()
        for member in members:
            wait_until(member.ready, within=READY_S, describe=f"the emulator of {member.name}")
        yield Mailboxes(addresses.gmail, addresses.anthropic)
    finally:
        stop_together(members)


def _alone(told: Delivery, number: int) -> bytes:
    """The message under its own id and in its own thread, so that what is drafted depends on no order of the work."""
    message = RawMessage.parse(told.raw).without({"in-reply-to", "references"})
    return message.having("Message-ID", f"<{number}@bench.postroom.example>").render()


def _unmetered(_method: str, _units: int) -> None:
    """The emulator counts nothing here."""
