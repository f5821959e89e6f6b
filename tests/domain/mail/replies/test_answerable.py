"""Whatever is read can be answered: a reply of it is read again with its subject, its recipients and its reference.

`tests/domain/mail/corpus/test_mutants.py` asks for it of mutants.
"""

import pytest

from domain.jobs.failures import Invalid
from domain.mail.outgoing.header_lines import header_text
from domain.mail.outgoing.senders import SenderWords
from domain.mail.outgoing.subjects import plain_subject
from domain.mail.parsing.limits import LONGEST_SUBJECT
from domain.mail.parsing.mime import parse_message
from domain.mail.parsing.parsed_message import ParsedMessage
from domain.mail.replies.draft_fingerprint import is_untouched, of_made
from domain.mail.replies.recipients import MOST_RECIPIENTS
from domain.mail.replies.replies import MessageHead, Original, reply_message
from domain.payloads.mail_address import Address
from tests.domain.mail.corpus.mutants import seeds

OWNER = SenderWords(Address("", "owner@example.com"))
HEADERS = [
    b"Subject: \x1b$BBG9g$;$N7o\x1b(B",
    b"Subject: =?utf-8?q?Question=07_about_Tuesday?=",
    b"Subject: =?utf-8?b?2eLYrdio2Kcg?= =?utf-8?q?=00=0D=0ABcc:_eve=40evil.example?=",
    b"Subject: " + b"Question about the contract " * 34,
    b"Subject: \xff\xfe caf\xe9 \x85\x9b",
    b"From: Ann <try..this@docomo.ne.jp>",
    b"From: .ann.@ezweb.ne.jp",
    "From: Ann <info@bücher.example>".encode(),
    b'From: "Ann, the \\"first\\"" <"ann lee"@a.example>',
    b"Reply-To: <" + b"t" * 90 + b"@reply.example>",
    b"Message-ID: 20261123.1234@x.example",
    b"Message-ID: <no at sign>",
    "Message-ID: <käse@x.example>".encode(),
    b"Message-ID: =?utf-8?q?=3CAM0PR05MB6834=40outlook=2Ecom=3E?=",
    b"References: <root@x.example> (a comment) <" + b"y" * 240 + b"@x.example>",
]


def answered(message: ParsedMessage) -> ParsedMessage | None:
    """The reply as it is read, or None where nobody can be answered: that is found before anything is written."""
    try:
        original = Original.of(message)
    except Invalid:
        return None
    raw = reply_message(original, OWNER, "Thank you.", token="token-12345")
    assert raw.isascii()
    assert max(map(len, raw.splitlines())) <= 998
    reply = parse_message(raw)
    kept = LONGEST_SUBJECT - len("Re: ")
    assert plain_subject(reply.subject)[:kept] == plain_subject(message.subject)[:kept]
    assert [one.key for one in reply.to] == [one.key for one in original.to]
    assert {one.key for one in reply.to} <= {one.key for one in (message.from_, *message.reply_to) if one}
    assert 0 < len(reply.to) <= MOST_RECIPIENTS
    assert (reply.cc, reply.bcc, reply.defects) == ((), (), ())
    if message.message_id is not None and header_text(message.message_id) == message.message_id:
        assert reply.in_reply_to == reply.references[-1] == message.message_id
    assert "<token-12345@draft.postroom.invalid>" in reply.references
    assert is_untouched(reply, of_made("Thank you.", MessageHead.of_reply(original, OWNER)))
    return reply


def test_each_real_and_each_odd_message_is_answered() -> None:
    assert sum(answered(parse_message(raw)) is not None for raw in seeds()) >= 300


@pytest.mark.parametrize("header", HEADERS, ids=lambda header: header[:30].decode("ascii", "backslashreplace"))
def test_each_odd_header_is_answered(header: bytes) -> None:
    raw = b"\n".join(
        [header, b"Subject: x", b"From: Ann <ann@a.example>", b"Message-ID: <m@a.example>", b"", b"Hello?"]
    )
    assert answered(parse_message(raw)) is not None
