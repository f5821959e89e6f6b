"""An edit of a machine draft is seen: in its words, its subject, its recipients, its files."""

import pytest

from domain.mail.outgoing.senders import SenderWords
from domain.mail.parsing.mime import parse_message
from domain.mail.replies.draft_fingerprint import UNKNOWN, is_untouched, of_made, of_rework, words_of
from domain.mail.replies.drafting import fingerprint
from domain.mail.replies.replies import MessageHead, Original, reply_message, threaded_message
from domain.payloads.mail_address import Address

OWNER = Address("", "owner@example.com")
SENDER = SenderWords(OWNER)
ORIGINAL = Original("Lunch?", (Address("Ada", "ada@example.org"),), "<one@example.org>")
BODY = "Noon suits me."
ENVELOPE = MessageHead.of_reply(ORIGINAL, SENDER)
MADE = of_made(BODY, ENVELOPE)


def test_a_draft_as_it_was_made_is_untouched() -> None:
    draft = parse_message(reply_message(ORIGINAL, SENDER, BODY, token="token-12345"))
    assert is_untouched(draft, MADE)
    assert is_untouched(draft, fingerprint(BODY)), "as a reworked draft of unknown words is remembered"
    assert not is_untouched(draft, UNKNOWN)
    assert len(MADE) <= 200, "the column's length"


BOB = Address("", "bob@example.org")


@pytest.mark.parametrize(
    "changed",
    [
        MessageHead(OWNER, ENVELOPE.to, "Re: Dinner?"),
        MessageHead(OWNER, (*ENVELOPE.to, BOB), ENVELOPE.subject),
        MessageHead(OWNER, (), ENVELOPE.subject),
        MessageHead(OWNER, ENVELOPE.to, ENVELOPE.subject, cc=(BOB,)),
        MessageHead(OWNER, ENVELOPE.to, ENVELOPE.subject, bcc=(BOB,)),
    ],
    ids=["subject", "to", "nobody", "cc", "bcc"],
)
def test_a_changed_envelope_is_an_edit_also_after_a_rework(changed: MessageHead) -> None:
    draft = parse_message(threaded_message(changed, ORIGINAL, BODY))
    assert not is_untouched(draft, MADE)
    reworked = parse_message(threaded_message(MessageHead.of_draft(draft, OWNER), ORIGINAL, "At one, then."))
    assert (reworked.subject, reworked.to, reworked.cc, reworked.bcc) == (draft.subject, draft.to, draft.cc, draft.bcc)
    assert not is_untouched(reworked, of_rework("At one, then.", MADE))


def test_names_and_order_are_no_edit() -> None:
    mailed = MessageHead(Address("Owner", OWNER.address), (Address("A. Example", "ADA@example.org"),), ENVELOPE.subject)
    assert is_untouched(parse_message(threaded_message(mailed, ORIGINAL, BODY)), MADE)


def test_the_words_alone_can_be_asked_for() -> None:
    assert words_of(MADE) == words_of(fingerprint(BODY)) == fingerprint(BODY)
    assert of_rework("x", fingerprint(BODY)) == fingerprint("x")
