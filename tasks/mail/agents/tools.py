"""Does what an agent asks for: each call once, by its id, and nothing that was not offered (docs: agents.md#tools)."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from domain.agents.ending import waits_for_person
from domain.agents.profile import SearchScope
from domain.agents.prompt import MOST_FOUND, FoundMessage, shown_hits, shown_thread
from domain.agents.tools import (
    ApplyLabel,
    Archive,
    Arguments,
    DraftReply,
    Escalate,
    Offer,
    ReadThread,
    Reply,
    SearchMail,
    read_call,
)
from domain.agents.transcript import ToolCall, ToolResult, read_result, result_document
from domain.clean_text import clean_text
from domain.jobs.failures import Gone, Invalid
from domain.mail.actions.action import LabelWish
from domain.mail.actions.kinds import ActionKind
from domain.mail.actions.requested_action import RequestedAction, parse_action
from domain.mail.correspondence import LabelRole
from domain.mail.mailbox import INBOX
from domain.mail.outgoing.send_orders import answered
from domain.mail.parsing.parsed_message import Defect, ParsedMessage
from domain.mail.replies.plain_reply import plain_reply
from domain.mail.triage.safety import SafetyEnforcer
from engine.context import JobContext
from storage.accounts.accounts import Account
from storage.agents import runs
from storage.mail import messages
from storage.mail.messages import Message
from tasks.mail.agents.conversation import CALLED
from tasks.mail.agents.draft import DraftOrder, save_draft
from tasks.mail.mailbox_change import open_thread

RUN_IS_OVER = "The run is over; nothing more is done."
WAITS = "It was asked for. A person will be asked before it happens."


@dataclass(frozen=True, slots=True)
class Workplace:
    """What a call works on: one thread of one account, and the labels that it knows."""

    account: Account
    message: Message
    """The message that the run is about, or that the call answers."""
    thread: tuple[Message, ...]
    newest: str
    """The id of the last message that the model knows of the thread."""
    label_ids: dict[LabelRole, str]
    boundary: str
    secret: str
    """A random word that nobody is shown; the same in each attempt."""
    offer: Offer
    safety: SafetyEnforcer

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
        return frozenset().union(*map(answered_to, answered))


def answered_to(message: ParsedMessage) -> frozenset[str]:
    """To whom an answer to a message goes: Reply-To, or else From."""
    sender = () if message.from_ is None else (message.from_,)
    return frozenset(address.key for address in (message.reply_to or sender))


class Toolbox(ABC):
    """Carries calls out for one run."""

    def __init__(self, ctx: JobContext) -> None:
        """Nothing is called yet."""
        self._ctx = ctx

    def carry_out(self, call: ToolCall, before: Sequence[ToolResult]) -> ToolResult:
        """What a call comes to, from this or an earlier attempt; `before` are the run's results so far.

        What was not offered, or is no valid call, is answered as an error; so is a thread that is gone. Raises the
        failures of a provider, upon which the job is tried again.
        """
        if any(result.ends_run for result in before):
            return ToolResult(call.call_id, RUN_IS_OVER, is_error=True)
        kept = self._ctx.step(f"agent_tool.{call.call_id}", lambda: result_document(self._do(call, before)))
        return read_result(kept)

    def _do(self, call: ToolCall, before: Sequence[ToolResult]) -> ToolResult:
        try:
            return self._act(call, before)
        except Invalid as refusal:
            self._ctx.log.warning("agent_call_refused", field=refusal.field, reason=refusal.reason)
            return ToolResult(call.call_id, f"Refused. {refusal.reason}", is_error=True)
        except Gone:
            return ToolResult(call.call_id, "Refused. The thread or its mail is gone.", is_error=True)

    @abstractmethod
    def _act(self, call: ToolCall, before: Sequence[ToolResult]) -> ToolResult:
        """Check a call and carry it out; raises `Invalid` for one that is refused, and `Gone`."""


def found_in(results: Sequence[ToolResult]) -> frozenset[str]:
    """The threads that the searches of a run have shown."""
    return frozenset(thread_id for result in results for thread_id in result.found)


class ThreadTools(Toolbox):
    """Those of a run that looks after one thread."""

    def __init__(self, ctx: JobContext, place: Workplace) -> None:
        """Nothing is called yet."""
        super().__init__(ctx)
        self._place = place

    def _act(self, call: ToolCall, before: Sequence[ToolResult]) -> ToolResult:
        arguments = read_call(
            call,
            self._place.offer,
            own_thread=self._place.message.thread_id,
            found=found_in(before),
            is_sealed=any(result.is_private for result in before),
        )
        match arguments:
            case SearchMail():
                return self._search(call, arguments)
            case ReadThread():
                return self._read(call, arguments)
            case _:
                return work_in_thread(self._ctx, self._place, call, arguments)

    def _search(self, call: ToolCall, wanted: SearchMail) -> ToolResult:
        is_private = self._place.offer.search is SearchScope.ACCOUNT
        others = self._place.recipients - self._place.account.addresses
        if not is_private and not others:
            return ToolResult(call.call_id, shown_hits((), self._place.boundary))
        with self._ctx.read() as tx:
            hits = runs.search(
                tx,
                self._place.account.account_id,
                wanted.query,
                but_thread=self._place.message.thread_id,
                seen_by=() if is_private else others,
                limit=MOST_FOUND,
            )
        shown = shown_hits(as_hits(hits), self._place.boundary)
        found = tuple(dict.fromkeys(one.thread_id for one in hits))
        return ToolResult(call.call_id, shown, is_private=is_private and bool(hits), found=found)

    def _read(self, call: ToolCall, wanted: ReadThread) -> ToolResult:
        own = self._place.message.thread_id
        thread_id = wanted.thread_id or own
        with self._ctx.read() as tx:
            thread = messages.of_thread(tx, self._place.account.account_id, thread_id)
        is_other = thread_id != own
        is_private = is_other and self._place.offer.search is SearchScope.ACCOUNT
        if is_other and not is_private:
            others = self._place.recipients - self._place.account.addresses
            thread = tuple(one for one in thread if others <= one.parsed.people)
        shown = shown_thread([one.parsed for one in thread], self._place.boundary)
        return ToolResult(call.call_id, shown, is_private=is_private)


def as_hits(found: Sequence[Message]) -> list[FoundMessage]:
    """Stored messages as the hits of a search are shown."""
    return [FoundMessage(one.thread_id, one.parsed, one.received_at) for one in found]


def work_in_thread(ctx: JobContext, place: Workplace, call: ToolCall, arguments: Arguments) -> ToolResult:
    """Change a thread's labels, write in it, or call a person; raises `Invalid` for what is refused, and `Gone`."""
    match arguments:
        case ApplyLabel(label=label):
            label_id = place.offer.labels[label]
            action = parse_action({"kind": ActionKind.APPLY_LABEL, "label_id": label_id})
            wish = LabelWish(add=frozenset({label_id}))
            return _change(ctx, place, call, action, wish, "The label is on the thread.")
        case Archive():
            action = parse_action({"kind": ActionKind.ARCHIVE})
            wish = LabelWish(remove=frozenset({INBOX}))
            return _change(ctx, place, call, action, wish, "The thread is out of the inbox.")
        case DraftReply(body=body):
            order = DraftOrder(place.account, place.asked, place.thread, place.newest, call.call_id, body, place.secret)
            return ToolResult(call.call_id, save_draft(ctx, order, place.label_ids))
        case Reply(body=body):
            # Nothing is sent here, and a person is asked before anything is: sending is dangerous.
            answered(place.message.parsed, place.account.addresses)
            return _ask(
                place, call, parse_action({"kind": ActionKind.AUTO_REPLY, "text": plain_reply(clean_text(body))})
            )
        case Escalate(reason=reason):
            return escalate(call, reason)
        case _:
            raise Invalid("tool", "there is no such tool here")


def escalate(call: ToolCall, reason: str) -> ToolResult:
    """Call a person, which ends the run."""
    return ToolResult(call.call_id, f"{CALLED}{reason}", ends_run=True)


def _change(
    ctx: JobContext, place: Workplace, call: ToolCall, action: RequestedAction, wish: LabelWish, done: str
) -> ToolResult:
    """Change the thread's labels at once, or ask for it where the safety rules want a person to be asked."""
    if waits_for_person(action, place.safety):
        return _ask(place, call, action)
    with open_thread(ctx, place.account, place.message.thread_id, place.label_ids, purpose=call.call_id) as thread:
        thread.prepare_ids(wish)
        thread.change()
        with ctx.tx() as tx:
            thread.finish(tx)
    return ToolResult(call.call_id, done)


def _ask(place: Workplace, call: ToolCall, action: RequestedAction) -> ToolResult:
    document = action.model_dump(mode="json", exclude_none=True)
    return ToolResult(call.call_id, WAITS, wanted=document, about=place.message.message_id)
