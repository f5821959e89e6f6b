"""A run of an agent, whoever asked for it: what it is about, what it works with, and how it begins and ends."""

from collections.abc import Callable
from dataclasses import dataclass

from domain.jobs.failures import Invalid
from domain.jobs.job import Outcome
from domain.mail.correspondence import LabelRole
from domain.mail.parsing.parsed_message import Defect, ParsedMessage
from domain.mail.triage.prompts import Guidance
from domain.mail.triage.safety import SafetyEnforcer
from domain.models.agents.ending import Held, preview_of
from domain.models.agents.profile import AgentProfile, SearchScope
from domain.models.agents.tools import NO_SUCH_TOOL, Offer
from domain.payloads.mail_address import Address
from engine.context import JobContext
from storage.mail.accounts import labels
from storage.mail.accounts.accounts import Account
from storage.mail.accounts.labels import StoredLabel
from storage.mail.messages import Message
from storage.mail.rules import rules, safety
from storage.models.agents import runs
from storage.models.agents.runs import BegunRun
from storage.postgres.database import Transaction


@dataclass(frozen=True, slots=True)
class KnownMailbox:
    """A mailbox, and what its owner has said about mail."""

    account: Account
    labels: tuple[StoredLabel, ...]
    guidance: Guidance
    safety: SafetyEnforcer

    @property
    def label_ids(self) -> dict[LabelRole, str]:
        """The ids of our labels."""
        return labels.by_role(self.labels)

    @property
    def own_labels(self) -> dict[str, str]:
        """The ids of the owner's labels, by name."""
        return labels.of_person(self.labels)


def read_mailbox(tx: Transaction, account: Account, sender: Address | None = None) -> KnownMailbox:
    """The mailbox of an account; with the sender of a message, what its owner has said about mail of that sender."""
    account_id = account.account_id
    found, said = labels.ask_for_all(tx, account_id), rules.guidance(tx, account_id, sender)
    policy = safety.of_account(tx, account_id)
    return KnownMailbox(account, found.answer, said.answer, SafetyEnforcer(policy.answer))


@dataclass(frozen=True, slots=True)
class ThreadAtHand:
    """A thread that a run or one of its calls works on, oldest message first."""

    message: Message
    """The message that the run is about, or that the call answers."""
    thread: tuple[Message, ...]
    newest: str
    """The id of the last message that the model knows of the thread."""

    @property
    def asked(self) -> Message:
        """The message that a draft would answer: the last that came in."""
        return next((one for one in reversed(self.thread) if one.direction == "incoming"), self.message)

    @property
    def recipients(self) -> frozenset[str]:
        """Whoever could get words of this run: to whom answers would go, as addresses are compared.

        Nobody where a message names several senders: who of them will read an answer cannot be told.
        """
        answered = (self.asked.parsed, self.message.parsed)
        if any(Defect.MANY_SENDERS in one.defects for one in answered):
            return frozenset()
        return frozenset().union(*map(_answered_to, answered))


def _answered_to(message: ParsedMessage) -> frozenset[str]:
    """To whom an answer to a message goes: Reply-To, or else From."""
    sender = () if message.from_ is None else (message.from_,)
    return frozenset(address.key for address in (message.reply_to or sender))


@dataclass(frozen=True, slots=True)
class Opening:
    """How a conversation begins. The first attempt's is kept: one after a crash goes on with the same words."""

    system: str
    text: str
    boundary: str
    """The random word of the fences around mail."""
    mark: str
    """A random word that nobody is shown, of which the tokens of the run's drafts are made."""
    newest: str = ""
    """The id of the last message of the run's own thread, which may have grown since; empty without one."""


@dataclass(frozen=True, slots=True)
class AgentRun:
    """All that a run begins with, read in one transaction."""

    begun: BegunRun
    profile: AgentProfile
    offer: Offer
    mailbox: KnownMailbox | None
    """Without one, the run has words only."""
    own: ThreadAtHand | None
    """The thread that the run looks after; without one, each call names a thread that a search has found."""
    opening: Opening
    """That of this attempt, which counts if it is the first."""
    end: Callable[[JobContext, "AgentRun", Held], Outcome]
    """What the run came to, written together with the settlement of its job."""

    @property
    def known_mailbox(self) -> KnownMailbox:
        """The mailbox of a call that needs one; raises `Invalid`, which goes to the model, where there is none."""
        if self.mailbox is None:
            raise Invalid("tool", NO_SUCH_TOOL)
        return self.mailbox

    @property
    def sees_private(self) -> bool:
        """Whether a run on a thread may be shown mail that no reader of its words has to know."""
        return self.own is not None and self.offer.search is SearchScope.ACCOUNT

    def finish(self, tx: Transaction, held: Held, *, pending_actions: int = 0) -> None:
        """End the run with what was said; `pending_actions` wait for a person."""
        preview = preview_of(held.last_word)
        runs.finish(tx, self.begun.run_id, held.finish, held.turns, preview=preview, pending_actions=pending_actions)
