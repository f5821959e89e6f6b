"""The one way to send without a key of the provider's: draft, send, look (docs: sending.md#once, docs: email.md#once).

The draft and its sending are an effect each, committed together with what each leads to. What became of a call without
an answer is looked for; the call is repeated only where it certainly did nothing.
"""

from abc import ABC, abstractmethod
from functools import partial

from domain.jobs.effects import CannotTell, Finding, Found
from domain.jobs.failures import CallState, Permanent, Transient, Uncertain
from domain.jobs.job import JsonObject
from engine.context import JobContext
from engine.effects import EffectGuard
from storage.postgres.database import Transaction

DISCARDED: JsonObject = {"discarded": True}
"""The result of an effect whose draft a person has thrown away."""
DISCARDED_CODE = "outbound.draft_discarded"


class DraftedMail(ABC):
    """One mail at one provider: its calls, what became of them, and what is written down of each.

    A draft and a sent mail are the JSON that an effect keeps. What is found may be `DISCARDED` instead, and what is
    found of a draft may be the mail that a person has sent from it: that has the word `sent`.
    """

    sent_as: str | None = None
    """The field by which a sent mail is known; None where that is its draft's id."""

    @abstractmethod
    def begin_draft(self, tx: Transaction) -> EffectGuard:
        """Write down what the draft is found by, and the intent to make it."""

    @abstractmethod
    def create_draft(self) -> JsonObject:
        """Make the draft."""

    @abstractmethod
    def find_draft(self) -> Finding:
        """Whether an earlier attempt has made the draft."""

    @abstractmethod
    def begin_sending(self, draft: JsonObject, tx: Transaction) -> EffectGuard:
        """Write down the draft, and the intent to send it."""

    @abstractmethod
    def send_draft(self, draft: JsonObject) -> JsonObject:
        """Send the draft."""

    @abstractmethod
    def find_sent(self, draft: JsonObject, request: bytes | None) -> Finding:
        """Whether the draft was sent, by an attempt or by a person; `request` is what `begin_sending` kept first."""

    @abstractmethod
    def record_sent(self, sent: JsonObject, tx: Transaction) -> None:
        """Write that the mail has left; also a second time, where the answer to the commit was lost.

        `sent` has the ids of the draft, too.
        """

    def clear_away(self, draft: JsonObject, refusal: Permanent) -> None:  # noqa: B027 - most leave it to its person
        """Deal with a draft that the provider will not send; raises what the refusal means where that is another."""


def send_by_draft(ctx: JobContext, mail: DraftedMail, draft: JsonObject | None) -> JsonObject:
    """Send a mail, or find what an earlier attempt or a person has sent; returns what is recorded of it.

    `draft` is the one that an earlier attempt has written down. Raises `Permanent` for one that a person has discarded.
    """
    if draft is None:
        with ctx.tx() as tx:
            making = mail.begin_draft(tx)
        draft = making.carry_out(mail.create_draft, mail.find_draft)
        if mail.sent_as is not None and mail.sent_as in draft:
            making.record_with(partial(mail.record_sent, draft))
            return draft
        _check_kept(making, draft)
        sending = making.record_with(partial(mail.begin_sending, draft))
    else:
        with ctx.tx() as tx:
            sending = mail.begin_sending(draft, tx)
    find = partial(mail.find_sent, draft, sending.first_request)
    try:
        sent = sending.carry_out(partial(_send, mail, draft, find), find)
    except Permanent as refusal:
        if not isinstance(refusal, Uncertain):
            mail.clear_away(draft, refusal)
        raise
    named = _named(mail, sent, find)
    _check_kept(sending, named)
    sent = draft | named
    sending.record_with(partial(mail.record_sent, sent))
    return sent


def _named(mail: DraftedMail, sent: JsonObject, find: partial[Finding]) -> JsonObject:
    """What was sent; looked for where a person has said that the draft was sent, and not as what."""
    if mail.sent_as is None or mail.sent_as in sent or "discarded" in sent:
        return sent
    found = find()
    return found.result if isinstance(found, Found) else {mail.sent_as: sent[mail.sent_as]}


def _send(mail: DraftedMail, draft: JsonObject, find: partial[Finding]) -> JsonObject:
    """Send the draft; where that is refused, a person may have sent it a moment before: the sent mail is looked for."""
    try:
        return mail.send_draft(draft)
    except Permanent as refusal:
        match find():
            case Found(result=sent):
                return sent
            case CannotTell(reason=reason):
                raise Transient(reason, code=refusal.code, call_state=CallState.IN_DOUBT) from refusal
        raise


def _check_kept(effect: EffectGuard, result: JsonObject) -> None:
    """Raise where a person has thrown the draft away, once that is recorded."""
    if "discarded" in result:
        effect.record_alone()
        raise Permanent("the draft was discarded before it was sent", code=DISCARDED_CODE)
