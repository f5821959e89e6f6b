"""The demo's story as data: mail before the first sync, mail that arrives later, and acts of steps."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sandbox.demo.addresses import GMAIL_UNITS
from sandbox.demo.letters import ATTACKS, INVOICE, LETTERS, SECRET
from sandbox.demo.mailbox_story import OWNER, Delivery, read_story, tell_story
from sandbox.demo.predictions import predict
from sandbox.demo.steps.actions import ArchiveAndUndo, ForwardUnapproved, SnoozeAndWake
from sandbox.demo.steps.agent import AgentAtWork
from sandbox.demo.steps.approval import ForwardApproved
from sandbox.demo.steps.attack import Attack
from sandbox.demo.steps.daily_brief import DailyBrief
from sandbox.demo.steps.drafts import Discard, Edit, Rework, Send
from sandbox.demo.steps.labels import MarkDone
from sandbox.demo.steps.reminder import RemindMe
from sandbox.demo.steps.step import Step
from sandbox.emulator.control import GmailAccount, GmailControl, MessagePlace

ORG = "The Example Org"
ACCESS_TOKEN = "local-access-token"  # noqa: S105  # valid at the emulator only
REFRESH_TOKEN = "local-refresh-token"  # noqa: S105  # as above
FIRST_SYNC = 36
"""How many of the 60 messages are in the mailbox before it is connected."""
WAVE = 6
"""How many of the others arrive at once."""


@dataclass(frozen=True, slots=True)
class Act:
    """Steps that are played one after another; then the fleet comes to rest, and each step has its predicted end."""

    says: str
    steps: tuple[Step, ...]


ACTS: tuple[Act, ...] = (
    Act(
        "The person works at the mailbox: discards, edits, reworks and sends drafts, and puts Done on a thread",
        (
            Discard("easy-ham-1-01736.eml"),
            Edit("easy-ham-1-00276.eml"),
            Rework("easy-ham-1-01310.eml"),
            Send("easy-ham-1-00307.eml"),
            Send("easy-ham-1-00889.eml"),
            Send("easy-ham-1-01029.eml"),
            Send("easy-ham-1-01199.eml"),
            MarkDone("easy-ham-1-01678.eml"),
        ),
    ),
    Act(
        "A service asks for actions and a reminder: a snooze, an archiving that it takes back, two forwards; an agent"
        " gets an invoice",
        (
            SnoozeAndWake("hard-ham-1-00184.eml"),
            ForwardApproved("easy-ham-1-01426.eml"),
            ForwardUnapproved("easy-ham-2-00451.eml"),
            RemindMe("easy-ham-1-01737.eml"),
            AgentAtWork(INVOICE),
            ArchiveAndUndo("easy-ham-2-01329.eml"),
        ),
    ),
    Act(
        "A workflow reads the mailbox's day, asks the owner, sends the brief by Resend, and reminds",
        (DailyBrief(SECRET.name),),
    ),
    Act("Attacks arrive, and the model obeys every order that it reads", (Attack(ATTACKS),)),
)
STEPS: tuple[Step, ...] = tuple(step for act in ACTS for step in act.steps)


def predicted_endings() -> dict[str, str]:
    """The predicted state of every message's record, by the message's name."""
    return predict(read_story(), LETTERS, STEPS)


def make_mailbox(gmail: GmailControl) -> GmailAccount:
    """The owner's mailbox at the emulator, empty; the fleet makes its labels when the account is connected."""
    return gmail.create_account(OWNER, ACCESS_TOKEN, REFRESH_TOKEN).turn(quota_per_minute=GMAIL_UNITS)


def deliver(mailbox: GmailAccount, deliveries: Sequence[Delivery]) -> dict[str, MessagePlace]:
    """Let messages arrive, each at the time it says; returns where each lies, by its file."""
    places: dict[str, MessagePlace] = {}
    for one in deliveries:
        at = int(one.at.timestamp() * 1000)
        places[one.story.file] = mailbox.deliver(one.raw, label_ids=list(one.story.labels), internal_date=at)
    return places


def whole_story() -> Sequence[Delivery]:
    """All 60 messages as of now, the oldest first."""
    return list(tell_story(datetime.now(UTC)))


def split_story() -> tuple[Sequence[Delivery], Iterator[Sequence[Delivery]]]:
    """The messages at the first sync, and the groups that arrive after it."""
    told = whole_story()
    waves = (told[start : start + WAVE] for start in range(FIRST_SYNC, len(told), WAVE))
    return told[:FIRST_SYNC], waves
