from datetime import UTC, datetime
from email import message_from_bytes, policy
from email.charset import BASE64, QP, Charset
from email.header import Header

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.jobs.failures import Invalid
from domain.mail.outgoing.senders import SenderWords
from domain.mail.outgoing.subjects import plain_subject
from domain.mail.outgoing.thread_ids import LONGEST_REFERENCES, thread_ids
from domain.mail.parsing.encoded_words import decode_words
from domain.mail.parsing.mime import parse_message
from domain.mail.replies.replies import Original, reply_message
from domain.payloads.mail_address import Address
from tests.domain.mail.messages import make_message

OWNER = SenderWords(Address("Öwner", "owner@example.com"))
ORIGINAL = Original("Meeting", (Address("Ada", "ada@example.org"),), "<two@example.org>", ("<one@example.org>",))


def test_a_reply_lands_in_its_thread() -> None:
    raw = reply_message(ORIGINAL, OWNER, "Grüße\nOwner", token="token-12345", date=datetime(2026, 11, 3, tzinfo=UTC))
    reply = parse_message(raw)
    assert reply.subject == "Re: Meeting"
    assert reply.in_reply_to == "<two@example.org>"
    assert reply.references == ("<one@example.org>", "<token-12345@draft.postroom.invalid>", "<two@example.org>")
    assert reply.header("x-postroom-token") == "token-12345"
    assert [one.address for one in reply.to] == ["ada@example.org"]
    assert reply.from_ == OWNER.address
    assert reply.text == "Grüße\nOwner"
    assert reply.message_id is None
    assert raw.isascii()


def test_reply_to_goes_before_from() -> None:
    original = Original.of(make_message(reply_to="desk@example.org", message_id="<a@example.org>"))
    assert [one.address for one in parse_message(reply_message(original, OWNER, "x")).to] == ["desk@example.org"]


@pytest.mark.parametrize("subject", ["Re: Meeting", "RE: Meeting", "re : Meeting", "Re[2]: Meeting"])
def test_a_reply_keeps_the_subject_of_a_reply(subject: str) -> None:
    original = Original(subject, ORIGINAL.to)
    assert parse_message(reply_message(original, OWNER, "x")).subject == subject


CONTROLS = ["\r", "\n", "\r\n", "\x00", "\u2028", "\x0b", "\x07", "\x1b$B", "\x85", "\x7f", "\t"]


@given(st.text(max_size=40), st.sampled_from(CONTROLS), st.text(max_size=40))
@settings(deadline=None)
def test_what_a_header_cannot_hold_becomes_a_space_and_adds_no_header(before: str, control: str, after: str) -> None:
    bad = f"{before}{control}Bcc: victim@example.net{after}"
    reply = parse_message(reply_message(Original(bad, (Address(bad, "ada@example.org"),)), OWNER, "x"))
    assert [one.address for one in (*reply.to, *reply.cc, *reply.bcc)] == ["ada@example.org"]
    assert plain_subject(reply.subject) == plain_subject(bad)
    with pytest.raises(Invalid, match="from"):
        reply_message(ORIGINAL, SenderWords(Address("n", f"own{control}er@example.com")), "x")
    with pytest.raises(Invalid, match="token"):
        reply_message(ORIGINAL, OWNER, "x", token=bad)


@pytest.mark.parametrize(
    "subject",
    [
        "Question about the contract " * 30,
        "Anfrage wegen größerer Mengen " * 33,
        "見積書の件" * 198,
        "x" * 994,
        "=?utf-8?q?a?=",
        "請求書" * 200,
        "\U0001f600" * 500,
    ],
    ids=lambda subject: subject[:10],
)
def test_a_long_subject_keeps_a_reply_in_its_thread(subject: str) -> None:
    charset = Charset("utf-8")
    charset.header_encoding = QP if subject.startswith("請") else BASE64
    original = Original.of(make_message(subject=Header(subject.strip(), charset).encode()))
    assert original.subject == subject.strip()
    raw = reply_message(original, OWNER, "x", token="token-12345")
    assert parse_message(raw).subject == f"Re: {subject.strip()}"
    assert max(map(len, raw.splitlines())) <= 998


@pytest.mark.parametrize(
    "message_id",
    ["<20261123.1234@x.example>", "<no-at-sign>", "<a b@x.example>", "<é@x.example>", f"<{'x' * 890}@x.example>"],
    ids=lambda one: one[:12],
)
def test_an_odd_id_is_referred_to_as_it_was_read(message_id: str) -> None:
    raw = reply_message(Original("s", ORIGINAL.to, message_id, ("<root@x.example>",)), OWNER, "x")
    written = " ".join(decode_words(one) for one in parse_message(raw).header_values("references"))
    assert written == f"<root@x.example> {message_id}"
    assert parse_message(raw).header("in-reply-to") == message_id
    assert max(map(len, raw.splitlines())) <= 998


@given(st.text(max_size=80), st.text(max_size=80), st.text(min_size=1, max_size=300))
@settings(deadline=None)
def test_whatever_is_accepted_has_no_header_but_ours(subject: str, name: str, body: str) -> None:
    original = Original(subject, (Address(name, "ada@example.org"),), "<a@example.org>")
    try:
        raw = reply_message(original, OWNER, body)
    except Invalid:
        assert not body.replace("\x00", "").strip()
        return
    headers = {key.lower() for key, _ in parse_message(raw).headers}
    assert headers <= {
        "from",
        "to",
        "subject",
        "in-reply-to",
        "references",
        "content-type",
        "content-transfer-encoding",
        "mime-version",
    }
    assert [one.address for one in parse_message(raw).to] == ["ada@example.org"]


@pytest.mark.parametrize("address", ["", "nobody", "a@b@c.example", "a b@example.org", "jörg@example.org", "a@", ".@."])
def test_addresses_that_cannot_get_mail_are_refused(address: str) -> None:
    with pytest.raises(Invalid, match="to"):
        reply_message(Original("s", (Address("", address),)), OWNER, "x")


@pytest.mark.parametrize("body", ["", " \n ", "x" * 100_001])
def test_bodies_are_bounded(body: str) -> None:
    with pytest.raises(Invalid, match="body"):
        reply_message(ORIGINAL, OWNER, body)


IDS = st.integers(1, 10_000).map("<{}@example.org>".format)


@given(st.lists(IDS, max_size=300, unique=True), IDS)
def test_references_are_bounded_and_keep_root_and_parent(references: list[str], parent: str) -> None:
    original = Original("s", ORIGINAL.to, parent, tuple(references))
    chosen = thread_ids(original.references, original.message_id, "token-12345")
    assert chosen[-1] == parent
    assert len(" ".join(chosen)) <= LONGEST_REFERENCES
    assert len(set(chosen)) == len(chosen)
    earlier = [one for one in references if one != parent]
    assert not earlier or chosen[0] == earlier[0]


def test_long_ids_are_not_turned_into_encoded_words() -> None:
    long_id = f"<{'x' * 200}@example.org>"
    raw = reply_message(Original("s", ORIGINAL.to, long_id, (f"<{'y' * 200}@example.org>",)), OWNER, "x")
    assert f"In-Reply-To: {long_id}\r\n".encode() in raw
    assert f" {long_id}\r\n".encode() in raw.partition(b"References:")[2]
    assert message_from_bytes(raw, policy=policy.default)["In-Reply-To"] == long_id


def test_nobody_cannot_be_answered() -> None:
    with pytest.raises(Invalid, match="from"):
        Original.of(parse_message(b"Subject: x\n\ny"))
