"""The tools of a run that has no thread of its own: its searches find threads, and each call names one of them.

What such a run was shown may come from many people. So it writes in a thread only what those may know who would get it:
each message that it was shown must be one that all of them have sent or received.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from domain.agents.prompt import MOST_LISTED, shown_hits, shown_thread
from domain.agents.tools import (
    SEALED,
    WITHOUT_MAILBOX,
    WRITING,
    Escalate,
    InThread,
    Offer,
    ReadFound,
    SearchMailbox,
    read_call,
)
from domain.agents.transcript import ToolCall, ToolResult
from domain.jobs.failures import Gone, Invalid
from domain.mail.correspondence import LabelRole
from domain.mail.triage.automation import HUMAN, replies_allowed
from domain.mail.triage.safety import SafetyEnforcer
from domain.payloads.mail_address import address_key, check_address
from engine.context import JobContext
from storage.accounts.accounts import Account
from storage.agents import runs
from storage.mail import messages
from storage.postgres.database import Transaction
from tasks.mail.agents.tools import Toolbox, Workplace, as_hits, escalate, found_in, work_in_thread

READ_FIRST = "read the thread before you write in it"
AUTOMATED = "was written by a machine, which gets no answer"


@dataclass(frozen=True, slots=True)
class Desk:
    """What a run works on: a whole mailbox, and the labels that it knows."""

    account: Account
    label_ids: dict[LabelRole, str]
    boundary: str
    secret: str
    """A random word that nobody is shown; the same in each attempt."""
    offer: Offer
    safety: SafetyEnforcer


class NoTools(Toolbox):
    """Those of a run without a mailbox: it can only call a person."""

    def _act(self, call: ToolCall, before: Sequence[ToolResult]) -> ToolResult:
        return _escalated(call, read_call(call, WITHOUT_MAILBOX, found=found_in(before)))


class MailboxTools(Toolbox):
    """Those of a run with a mailbox."""

    def __init__(self, ctx: JobContext, desk: Desk) -> None:
        """Nothing is called yet."""
        super().__init__(ctx)
        self._desk = desk

    def _act(self, call: ToolCall, before: Sequence[ToolResult]) -> ToolResult:
        arguments = read_call(call, self._desk.offer, found=found_in(before))
        match arguments:
            case SearchMailbox():
                return self._search(call, arguments)
            case ReadFound(thread_id=thread_id):
                return self._read(call, thread_id)
            case InThread():
                return work_in_thread(self._ctx, self._place(arguments, before), call, arguments)
            case _:
                return _escalated(call, arguments)

    def _search(self, call: ToolCall, wanted: SearchMailbox) -> ToolResult:
        seen_by = () if wanted.person is None else (address_key(check_address("person", wanted.person)),)
        with self._ctx.read() as tx:
            hits = runs.search(
                tx, self._desk.account.account_id, wanted.query or "", seen_by=seen_by, limit=MOST_LISTED
            )
        return ToolResult(
            call.call_id,
            shown_hits(as_hits(hits), self._desk.boundary, most=MOST_LISTED),
            found=tuple(dict.fromkeys(one.thread_id for one in hits)),
            shown=tuple(one.message_id for one in hits),
        )

    def _read(self, call: ToolCall, thread_id: str) -> ToolResult:
        with self._ctx.read() as tx:
            thread = messages.of_thread(tx, self._desk.account.account_id, thread_id)
        if not thread:
            raise Gone(f"nothing is stored of thread {thread_id}")
        shown = shown_thread([one.parsed for one in thread], self._desk.boundary)
        return ToolResult(call.call_id, shown, shown=tuple(one.message_id for one in thread), read=thread_id)

    def _place(self, wanted: InThread, before: Sequence[ToolResult]) -> Workplace:
        """The thread that a call names: of one in which it writes, the messages that the run has read."""
        desk, writes = self._desk, wanted.tool in WRITING
        read = next((one.shown for one in reversed(before) if one.read == wanted.thread_id), None)
        if writes and read is None:
            raise Invalid("thread_id", READ_FIRST)
        with self._ctx.read() as tx:
            stored = messages.of_thread(tx, desk.account.account_id, wanted.thread_id)
            thread = tuple(one for one in stored if not writes or read is None or one.message_id in read)
            if not thread:
                raise Gone(f"nothing is stored of thread {wanted.thread_id}")
            place = Workplace(
                account=desk.account,
                message=next((one for one in reversed(thread) if one.direction == "incoming"), thread[-1]),
                thread=thread,
                newest=thread[-1].message_id if read is None else read[-1],
                label_ids=desk.label_ids,
                boundary=desk.boundary,
                secret=desk.secret,
                offer=desk.offer,
                safety=desk.safety,
            )
            if writes:
                _check_words(tx, place, before)
        return place


def _check_words(tx: Transaction, place: Workplace, before: Sequence[ToolResult]) -> None:
    """Refuse words to a machine, and words of a run that was shown mail that not all of their readers have seen."""
    if not replies_allowed(place.asked.automation or HUMAN):
        raise Invalid("thread_id", AUTOMATED)
    elsewhere = {one for result in before for one in result.shown} - {one.message_id for one in place.thread}
    readers = place.recipients - place.account.addresses
    if elsewhere and not (readers and runs.have_seen(tx, place.account.account_id, readers, elsewhere)):
        raise Invalid("tool", SEALED)


def _escalated(call: ToolCall, arguments: object) -> ToolResult:
    if not isinstance(arguments, Escalate):
        raise Invalid("tool", "there is no such tool here")
    return escalate(call, arguments.reason)
