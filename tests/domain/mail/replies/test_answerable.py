"""Whatever is read can be answered: a reply of it is read again with its subject, its recipients and its reference."""

from random import Random

import pytest

from domain.jobs.failures import Invalid
from domain.mail.outgoing.header_lines import header_text
from domain.mail.outgoing.subjects import plain_subject
from domain.mail.parsing.limits import LONGEST_SUBJECT
from domain.mail.parsing.mime import parse_message
from domain.mail.parsing.parsed_message import Address, ParsedMessage
from domain.mail.replies.draft_fingerprint import is_untouched, of_made
from domain.mail.replies.recipients import MOST_RECIPIENTS
from domain.mail.replies.replies import Envelope, Original, reply_message
from tests.domain.mail.corpus_report import corpus_files

OWNER = Address("", "owner@example.com")
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
    b"Message-ID: =?utf-8?q?=3CAM0PR05MB6834=40outlook=2Ecom=3E?=",
    b"References: <root@x.example> (a comment) <" + b"y" * 240 + b"@x.example>",
]
SEED, MUTANTS = 33, 400


def mutants(seed: int, count: int) -> list[bytes]:
    """Real messages with a header of another mailer's, or with bytes of their heads changed."""
    chance = Random(seed)  # noqa: S311 - the same messages each time
    files = [path.read_bytes() for path in corpus_files()]
    made = []
    for _ in range(count):
        head, gap, body = chance.choice(files).partition(b"\n\n")
        if chance.random() < 0.5:
            header = chance.choice(HEADERS)
            name = header.partition(b":")[0].lower()
            kept = [line for line in head.split(b"\n") if not line.lower().startswith(name + b":")]
            head = b"\n".join([*kept, header])
        for _ in range(chance.choice([0, 1, 3])):
            place = chance.randrange(len(head))
            head = (
                head[:place]
                + chance.choice([b"\x00", b"\x1b", b"\xff", b'"', b"<", b"@", b",", b".."])
                + head[place + 1 :]
            )
        made.append(head + gap + body[:500])
    return made


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
    assert 0 < len(reply.to) <= MOST_RECIPIENTS
    assert (reply.cc, reply.bcc, reply.defects) == ((), (), ())
    if (message.message_id or "é").isascii() and header_text(message.message_id or "") == message.message_id:
        assert reply.in_reply_to == reply.references[-1] == message.message_id
    assert "<token-12345@draft.postroom.invalid>" in reply.references
    assert is_untouched(reply, of_made("Thank you.", Envelope.of_reply(original, OWNER)))
    return reply


def test_each_real_message_is_answered() -> None:
    assert sum(answered(parse_message(path.read_bytes())) is not None for path in corpus_files()) >= 285


@pytest.mark.parametrize("header", HEADERS, ids=lambda header: header[:30].decode("ascii", "backslashreplace"))
def test_each_odd_header_is_answered(header: bytes) -> None:
    raw = b"\n".join(
        [header, b"Subject: x", b"From: Ann <ann@a.example>", b"Message-ID: <m@a.example>", b"", b"Hello?"]
    )
    assert answered(parse_message(raw)) is not None


def test_mutants_are_answered() -> None:
    found = [answered(parse_message(raw)) for raw in mutants(SEED, MUTANTS)]
    assert sum(one is not None for one in found) > MUTANTS * 0.8, f"seed {SEED}"
