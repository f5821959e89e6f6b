"""What a step of the story is: who does what, the predicted end in words, and the end as the evidence shows it."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email import message_from_string, policy
from typing import Any, ClassVar

from sandbox.demo.doors import HttpDoor
from sandbox.demo.evidence import ActionRow, EmailRecord, Ledger, Outside
from sandbox.emulator.client import EmulatorControl
from sandbox.emulator.control import GmailAccount, GmailControl, MessagePlace
from sandbox.resend.control import ResendControl

Mark = Mapping[str, Any]
"""What a step keeps between its play and its end, such as the id of the action that it asked for."""


@dataclass(frozen=True, slots=True)
class Proof:
    """The evidence that a step's end is counted from; `place` is the step's first message."""

    ledger: Ledger
    outside: Outside
    place: MessagePlace
    mark: Mark
    places: Mapping[str, MessagePlace] = field(default_factory=dict)
    """Where each message lies, by its name."""

    def record(self, thread_id: str | None = None) -> EmailRecord | None:
        """The record of a thread, by default the step's."""
        wanted = thread_id or self.place.thread_id
        return next((one for one in self.ledger.emails if one.thread_id == wanted), None)

    def state(self) -> str:
        """The state of the step's thread, `no record` where there is none."""
        record = self.record()
        return record.state if record else "no record"

    def drafts(self, thread_id: str | None = None) -> list[dict[str, Any]]:
        """The drafts that lie in a thread of the mailbox, by default the step's."""
        wanted = thread_id or self.place.thread_id
        return [one for one in self.outside.mailbox.drafts if one["thread_id"] == wanted]

    def labels(self) -> set[str]:
        """The names of the labels that the step's message carries in the mailbox."""
        return self.outside.mailbox.label_names(self.place.message_id)

    def sent(self) -> list[dict[str, Any]]:
        """The messages in the step's thread that were sent."""
        lying = self.outside.mailbox.labelled("SENT")
        return [one for one in lying if one["thread_id"] == self.place.thread_id]

    def action(self, name: str = "action_id") -> ActionRow | None:
        """The action whose id the step has kept under this name."""
        return next((one for one in self.ledger.actions if str(one.action_id) == self.mark.get(name)), None)

    def action_state(self) -> str:
        """The state of the step's action."""
        action = self.action()
        return action.state if action else "no action"


@dataclass(frozen=True, slots=True)
class Stage:
    """What a step plays with: the mailbox as its person has it, the fleet's HTTP API, and the present state."""

    mailbox: GmailAccount
    gmail: GmailControl
    model: EmulatorControl
    discord: EmulatorControl
    resend: ResendControl
    door: HttpDoor
    account_id: str
    wait: Callable[[Callable[[Ledger], str]], Ledger]
    """Wait until nothing is missing any more; the function says what is."""
    rest: Callable[[], Ledger]
    """Wait until every message is decided and no job is left."""
    deliver: Callable[[str, bytes], MessagePlace]
    """Let a message arrive, under a name."""
    connect: Callable[[str, str], object]
    """Connect the mailbox anew, with an access token and a refresh token."""
    keep: Callable[[str, str], object]
    """Keep a text in a file of this name, beside the report."""
    places: dict[str, MessagePlace] = field(default_factory=dict)
    """Where each message of the story lies, by the name that the story gives it."""

    def draft_of(self, name: str) -> dict[str, Any]:
        """The draft in the thread of a message; raises `LookupError` when there is none."""
        thread_id = self.places[name].thread_id
        found = next((one for one in self.mailbox.state().drafts if one["thread_id"] == thread_id), None)
        if found is None:
            raise LookupError(f"there is no draft in the thread of {name}")
        return found

    def ask_for(self, name: str, action: Mapping[str, object]) -> str:
        """Ask for an action on a message, as a service does; returns the action's id."""
        wish = {"account_id": self.account_id, "message_id": self.places[name].message_id, "action": dict(action)}
        return str(self.door.post("/v1/actions", wish)["action_id"])


class Step(ABC):
    """One step; its subclasses are frozen data, the messages that it is about among them."""

    title: ClassVar[str]
    """What the table calls it."""
    expected: ClassVar[str]
    """The predicted end, in the words of `found`."""
    ends: ClassVar[str | None] = None
    """The state in which the step leaves the record of its thread; None when it leaves it as it was."""

    @property
    @abstractmethod
    def targets(self) -> tuple[str, ...]:
        """The names of its messages."""

    @abstractmethod
    def play(self, stage: Stage) -> Mark:
        """Do it."""

    @abstractmethod
    def found(self, proof: Proof) -> str:
        """The end as the evidence shows it."""


@dataclass(frozen=True, slots=True)
class OnMessage(Step):
    """A step about one message of the story."""

    target: str

    @property
    def targets(self) -> tuple[str, ...]:
        """That message."""
        return (self.target,)


def text_of(draft: Mapping[str, Any]) -> str:
    """The words of a draft, without its head."""
    part = message_from_string(str(draft["raw"]), policy=policy.default).get_body(("plain",))
    return str(part.get_content()).replace("\r\n", "\n").strip() if part else ""


def number(count: int, what: str) -> str:
    """`1 draft`, `2 drafts`, `no draft`."""
    return f"no {what}" if count == 0 else f"{count} {what}{'s' if count > 1 else ''}"
