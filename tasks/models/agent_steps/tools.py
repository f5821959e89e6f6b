"""Does what an agent asks for: each call once, by its id, and nothing that was not offered (docs: agents.md#tools).

A run that looks after a thread works on that thread; a run without one names with each call a thread that it has found.
Such a run may be shown mail of many people. So it writes in a thread only what those may know who would get it: each
message that it was shown must be one that all of them have sent or received.
"""

from collections.abc import Sequence
from dataclasses import replace

from domain.clean_text import clean_text
from domain.jobs.failures import Gone, Invalid
from domain.mail.actions.action import LabelWish
from domain.mail.actions.kinds import ActionKind
from domain.mail.actions.requested_action import RequestedAction, parse_action
from domain.mail.mailbox import INBOX
from domain.mail.outgoing.send_orders import answered
from domain.mail.replies.plain_reply import plain_reply
from domain.mail.triage.automation import HUMAN, replies_allowed
from domain.models.agents.ending import waits_for_person
from domain.models.agents.prompt import MOST_FOUND, MOST_LISTED, FoundMessage, shown_hits, shown_thread
from domain.models.agents.tools import (
    NO_SUCH_TOOL,
    SEALED,
    WRITING,
    ApplyLabel,
    Archive,
    Arguments,
    DraftReply,
    Escalate,
    InThread,
    ReadThread,
    Reply,
    SearchMail,
    SearchMailbox,
    read_call,
)
from domain.models.agents.transcript import CALLED, ToolCall, ToolResult, read_result, result_document
from domain.payloads.mail_address import address_key, check_address
from engine.context import JobContext
from storage.mail import messages
from storage.models.agents import runs
from tasks.mail.steps.mailbox_change import open_thread
from tasks.models.agent_steps.draft import DraftOrder, save_draft
from tasks.models.agent_steps.run import AgentRun, Opening, ThreadAtHand

RUN_IS_OVER = "The run is over; nothing more is done."
WAITS = "It was asked for. A person will be asked before it happens."
READ_FIRST = "read the thread before you write in it"
AUTOMATED = "ends with a message that was written by a machine, which gets no answer"


class Tools:
    """Carries calls out for one run."""

    def __init__(self, ctx: JobContext, run: AgentRun, opening: Opening) -> None:
        """Nothing is called yet."""
        self._ctx = ctx
        self._run = run
        self._opening = opening
        self._own = None if run.own is None else replace(run.own, newest=opening.newest)

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

    def _act(self, call: ToolCall, before: Sequence[ToolResult]) -> ToolResult:
        """Check a call and carry it out; raises `Invalid` for one that is refused, and `Gone`."""
        own = self._own
        arguments = read_call(
            call,
            self._run.offer,
            own_thread=None if own is None else own.message.thread_id,
            found=frozenset(thread_id for result in before for thread_id in result.found),
            is_sealed=self._run.sees_private and any(result.shown for result in before),
        )
        match arguments:
            case Escalate(reason=reason):
                return ToolResult(call.call_id, f"{CALLED}{reason}", ends_run=True)
            case SearchMail(query=query):
                return self._search(call, query)
            case SearchMailbox(query=query, person=person):
                return self._search(call, query or "", person)
            case ReadThread(thread_id=thread_id):
                return self._read(call, thread_id)
            case _:
                return self._work(call, arguments, self._at_hand(arguments, before))

    def _readers(self, at_hand: ThreadAtHand) -> frozenset[str]:
        """Who would get words that are written in a thread, but for the mailbox's owner."""
        return at_hand.recipients - self._run.known_mailbox.account.addresses

    def _must_know(self) -> frozenset[str] | None:
        """Who must have seen the mail that is shown; None where all mail of the mailbox may be shown."""
        own = self._own
        return None if own is None or self._run.sees_private else self._readers(own)

    def _search(self, call: ToolCall, words: str, person: str | None = None) -> ToolResult:
        own, boundary = self._own, self._opening.boundary
        seen_by = self._must_know()
        if seen_by is None:
            seen_by = frozenset() if person is None else frozenset({address_key(check_address("person", person))})
        elif not seen_by:
            return ToolResult(call.call_id, shown_hits((), boundary))
        but_thread, most = ("", MOST_LISTED) if own is None else (own.message.thread_id, MOST_FOUND)
        account_id = self._run.known_mailbox.account.account_id
        with self._ctx.read() as tx:
            hits = runs.search(tx, account_id, words, but_thread=but_thread, seen_by=seen_by, limit=most)
        shown = [FoundMessage(one.thread_id, one.parsed, one.received_at) for one in hits]
        return ToolResult(
            call.call_id,
            shown_hits(shown, boundary, most=most),
            found=tuple(dict.fromkeys(one.thread_id for one in hits)),
            shown=tuple(one.message_id for one in hits),
        )

    def _read(self, call: ToolCall, thread_id: str | None) -> ToolResult:
        own = None if self._own is None else self._own.message.thread_id
        wanted = thread_id or own or ""
        with self._ctx.read() as tx:
            thread = messages.of_thread(tx, self._run.known_mailbox.account.account_id, wanted)
        must_know = None if wanted == own else self._must_know()
        if must_know is not None:
            thread = tuple(one for one in thread if must_know <= one.parsed.people)
        if not thread:
            raise Gone(f"nothing is stored of thread {wanted}")
        shown = shown_thread([one.parsed for one in thread], self._opening.boundary)
        if wanted == own:
            # The run's opening is the reading that a draft in its own thread must be up to date with.
            return ToolResult(call.call_id, shown)
        return ToolResult(call.call_id, shown, shown=tuple(one.message_id for one in thread), read=wanted)

    def _at_hand(self, arguments: Arguments, before: Sequence[ToolResult]) -> ThreadAtHand:
        """The thread that a call works on."""
        at_hand = self._own or self._found(arguments, before)
        if arguments.tool in WRITING:
            self._check_words(at_hand, before)
        return at_hand

    def _found(self, arguments: Arguments, before: Sequence[ToolResult]) -> ThreadAtHand:
        """The thread that a call names; of one that was read, the messages that were."""
        if not isinstance(arguments, InThread):
            raise Invalid("tool", NO_SUCH_TOOL)
        read = next((one.shown for one in reversed(before) if one.read == arguments.thread_id), None)
        if read is None and arguments.tool in WRITING:
            raise Invalid("thread_id", READ_FIRST)
        with self._ctx.read() as tx:
            stored = messages.of_thread(tx, self._run.known_mailbox.account.account_id, arguments.thread_id)
        thread = tuple(one for one in stored if read is None or one.message_id in read)
        if not thread:
            raise Gone(f"nothing is stored of thread {arguments.thread_id}")
        last = next((one for one in reversed(thread) if one.direction == "incoming"), thread[-1])
        return ThreadAtHand(last, thread, thread[-1].message_id if read is None else read[-1])

    def _check_words(self, at_hand: ThreadAtHand, before: Sequence[ToolResult]) -> None:
        """Refuse words to a machine, and words of a run that was shown mail that not all of their readers have seen."""
        if not replies_allowed(at_hand.asked.automation or HUMAN):
            raise Invalid("thread", AUTOMATED)
        elsewhere = {one for result in before for one in result.shown} - {one.message_id for one in at_hand.thread}
        if not elsewhere:
            return
        readers, account_id = self._readers(at_hand), self._run.known_mailbox.account.account_id
        with self._ctx.read() as tx:
            if not (readers and runs.have_seen(tx, account_id, readers, elsewhere)):
                raise Invalid("tool", SEALED)

    def _work(self, call: ToolCall, arguments: Arguments, at_hand: ThreadAtHand) -> ToolResult:
        """Change a thread's labels or write in it."""
        account = self._run.known_mailbox.account
        match arguments:
            case ApplyLabel(label=label):
                label_id = self._run.offer.labels[label]
                action = parse_action({"kind": ActionKind.APPLY_LABEL, "label_id": label_id})
                wish = LabelWish(add=frozenset({label_id}))
                return self._change(call, at_hand, action, wish, "The label is on the thread.")
            case Archive():
                action = parse_action({"kind": ActionKind.ARCHIVE})
                wish = LabelWish(remove=frozenset({INBOX}))
                return self._change(call, at_hand, action, wish, "The thread is out of the inbox.")
            case DraftReply(body=body):
                asked, newest = at_hand.asked, at_hand.newest
                order = DraftOrder(account, asked, at_hand.thread, newest, call.call_id, body, self._opening.mark)
                return ToolResult(call.call_id, save_draft(self._ctx, order, self._run.known_mailbox.label_ids))
            case Reply(body=body):
                # Nothing is sent here, and a person is asked before anything is: sending is dangerous.
                answered(at_hand.message.parsed, account.addresses)
                words = plain_reply(clean_text(body))
                return _ask(call, at_hand, parse_action({"kind": ActionKind.AUTO_REPLY, "text": words}))
            case _:
                raise Invalid("tool", NO_SUCH_TOOL)

    def _change(
        self, call: ToolCall, at_hand: ThreadAtHand, action: RequestedAction, wish: LabelWish, done: str
    ) -> ToolResult:
        """Change the thread's labels at once, or ask for it where the safety rules want a person to be asked."""
        mailbox, thread_id = self._run.known_mailbox, at_hand.message.thread_id
        if waits_for_person(action, mailbox.safety):
            return _ask(call, at_hand, action)
        with open_thread(self._ctx, mailbox.account, thread_id, mailbox.label_ids, purpose=call.call_id) as thread:
            thread.prepare_ids(wish)
            thread.change()
            with self._ctx.tx() as tx:
                thread.finish(tx)
        return ToolResult(call.call_id, done)


def _ask(call: ToolCall, at_hand: ThreadAtHand, action: RequestedAction) -> ToolResult:
    document = action.model_dump(mode="json", exclude_none=True)
    return ToolResult(call.call_id, WAITS, wanted=document, about=at_hand.message.message_id)
