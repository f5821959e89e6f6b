import base64
import json
from dataclasses import asdict
from datetime import UTC, datetime
from time import monotonic

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.mail.parsing.limits import LONGEST_TEXT
from domain.mail.parsing.mime import parse_message
from domain.mail.parsing.parsed_message import Defect, ParsedMessage
from tests.domain.mail.corpus_report import corpus_files
from tests.domain.mail.messages import make_message, raw_message

REAL = [path.read_bytes() for path in corpus_files()[::7]]


def assert_storable(message: ParsedMessage) -> None:
    """Everything encodes as UTF-8 and holds no NUL, which is what PostgreSQL asks of text and jsonb."""
    text = json.dumps(asdict(message), default=str, ensure_ascii=False)
    text.encode("utf-8")
    assert "\\u0000" not in text
    assert len(message.text) <= LONGEST_TEXT
    assert message.date is None or message.date.tzinfo is UTC


@given(st.binary(max_size=2_000))
def test_arbitrary_bytes_never_raise(raw: bytes) -> None:
    assert_storable(parse_message(raw))


@settings(deadline=None)
@given(st.data())
def test_mutations_of_real_messages_never_raise(data: st.DataObject) -> None:
    raw = bytearray(data.draw(st.sampled_from(REAL)))
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(raw)))
        end = data.draw(st.integers(start, min(len(raw), start + 200)))
        raw[start:end] = data.draw(st.binary(max_size=60) | st.sampled_from([b"\x00", b"\r\n", b"--", b"=?x?b?=?="]))
    assert_storable(parse_message(bytes(raw)))


WORDS = st.sampled_from(
    [
        "=?utf-8?b?",
        "?=",
        "=?big5?q?=ff=fe",
        '"',
        "<",
        ">",
        "(",
        "\\",
        ",",
        ";",
        ":",
        "@",
        "a@b.c",
        "\x00",
        "\udcff",
        "=",
        "*0*",
        "'",
    ]
)


@given(st.lists(WORDS, max_size=60).map("".join), st.sampled_from(["from", "subject", "content-type", "date", "to"]))
def test_hostile_headers_never_raise(value: str, name: str) -> None:
    raw = f"{name}: {value}\n\nhello".encode("utf-8", "surrogatepass")
    assert_storable(parse_message(raw))


def test_reads_an_ordinary_message() -> None:
    message = make_message(
        "Hi\n",
        message_id="<one@example.org>",
        in_reply_to="<zero@example.com>",
        references="<root@example.com>\n <zero@example.com>",
        cc='"Last, First" <cc@example.org>, plain@example.net',
        reply_to="Desk <desk@example.org>",
        date="Tue, 3 Nov 2026 10:00:00 +0100",
        subject="=?utf-8?q?Gr=C3=BC=C3=9Fe?= =?utf-8?b?IGF1cyBXaWVu?=",
    )
    assert (message.message_id, message.in_reply_to) == ("<one@example.org>", "<zero@example.com>")
    assert message.references == ("<root@example.com>", "<zero@example.com>")
    assert [(one.name, one.address) for one in message.cc] == [
        ("Last, First", "cc@example.org"),
        ("", "plain@example.net"),
    ]
    assert message.reply_to[0].key == "desk@example.org"
    assert message.date == datetime(2026, 11, 3, 9, tzinfo=UTC)
    assert message.subject == "Grüße aus Wien"
    assert message.text == "Hi"
    assert message.defects == ()


def test_a_multibyte_letter_cut_between_encoded_words_is_repaired() -> None:
    halves = [base64.b64encode(half).decode() for half in ("ü".encode()[:1], "ü".encode()[1:])]
    assert make_message(subject=f"=?utf-8?b?{halves[0]}?= =?utf-8?b?{halves[1]}?=").subject == "ü"


def test_nothing_at_all() -> None:
    message = parse_message(b"")
    assert (message.defects[0], message.from_, message.text) == (Defect.EMPTY, None, "")


def test_no_headers_is_all_body() -> None:
    message = parse_message(b"just some words\nand more\n")
    assert message.text == "just some words\nand more"
    assert Defect.NO_HEADERS in message.defects


def test_nul_bytes_are_removed_and_noted() -> None:
    message = parse_message(b"Subject: a\x00b\nFrom: x@example.org\n\nte\x00xt")
    assert (message.subject, message.text) == ("ab", "text")
    assert Defect.NUL_BYTES in message.defects


@pytest.mark.parametrize("charset", ["x-absurd-1", "hex", "idna", "undefined", "unicode_escape", "a/b", "a" * 500])
def test_absurd_charsets_are_guessed(charset: str) -> None:
    message = make_message("Grüße\n", content_type=f'text/plain; charset="{charset}"')
    assert message.text == "Grüße"
    assert Defect.BAD_CHARSET in message.defects


def test_ascii_that_is_not_is_guessed() -> None:
    raw = b"From: a@example.org\nContent-Type: text/plain; charset=us-ascii\n\nGr\xfc\xdfe"
    assert parse_message(raw).text == "Grüße"


def test_ten_thousand_recipients_are_bounded() -> None:
    addresses = ",\n ".join(f"Person {number} <p{number}@example.org>" for number in range(10_000))
    message = make_message(to=addresses)
    assert len(message.to) == 1_000
    assert message.to[999].address == "p999@example.org"
    assert Defect.TOO_MANY_RECIPIENTS in message.defects
    assert message.text.startswith("Hello")


def test_thirty_megabytes_are_read_in_seconds() -> None:
    attachment = base64.encodebytes(b"x" * 22_000_000).decode()
    body = (
        "--edge\nContent-Type: text/plain\n\nsee attached\n--edge\nContent-Type: application/pdf\n"
        f"Content-Disposition: attachment; filename*=utf-8''pl%C3%A4ne.pdf\nContent-Transfer-Encoding: base64\n\n"
        f"{attachment}\n--edge--\n"
    )
    started = monotonic()
    message = make_message(body, content_type='multipart/mixed; boundary="edge"')
    assert monotonic() - started < 10
    assert message.text == "see attached"
    assert message.attachments[0].filename == "pläne.pdf"
    assert abs(message.attachments[0].size - 22_000_000) < 1_000
    assert message.size > 29_000_000


def test_ten_thousand_nested_multiparts_are_not_followed() -> None:
    levels = [f'Content-Type: multipart/mixed; boundary="b{n}"\n\n--b{n}\n' for n in range(10_000)]
    raw = b"From: a@example.org\n" + "".join(levels).encode() + b"\nbottom"
    message = parse_message(raw)
    assert Defect.TOO_DEEP in message.defects
    assert message.from_ is not None


def test_ten_thousand_parts_are_bounded() -> None:
    message = make_message("--b\n\npart\n" * 10_000, content_type="multipart/mixed; boundary=b")
    assert Defect.TOO_MANY_PARTS in message.defects
    assert message.text.startswith("part")


@pytest.mark.parametrize(
    "raw",
    [
        b"From: a@example.org\nSubject: " + b"x" * 25_000_000 + b"\n\nbody",
        b"From: a@example.org\n" + b"X-Bomb: y\n" * 40_000 + b"\nbody",
        b"From: a@example.org\nX-Folded: y\n" + b" z\n" * 200_000 + b"\nbody",
        b"From: a@example.org\nTo: " + b"(" * 900_000 + b"\n\nbody",
        b"From: a@example.org\nTo: " + b'"\\' * 400_000 + b"\n\nbody",
        b"From: a@example.org\nContent-Type: text/html\n\nbody" + b"<!--" * 120_000,
        b"From: a@example.org\nContent-Type: text/html\n\nbody" + b'<a "' * 120_000 + b">",
        b"From: a@example.org\nContent-Type: text/html\n\nbody" + b"<![<" * 120_000,
    ],
    ids=["long header", "many headers", "many folds", "nested comments", "quotes", "comments", "quoted tags", "marked"],
)
def test_bombs_take_little_time_and_leave_the_body(raw: bytes) -> None:
    started = monotonic()
    message = parse_message(raw)
    assert monotonic() - started < 5
    assert "body" in message.text
    assert message.from_ is not None


def test_html_alone_gives_a_text() -> None:
    message = make_message("<style>p {}</style><p>Hello <b>you</b></p><p>bye</p>", content_type="text/html")
    assert message.text == "Hello you\n\nbye"


def test_the_page_is_read_and_a_file_among_the_versions_is_listed() -> None:
    body = (
        "--x\nContent-Type: text/plain\n\nplain *text*\n--x\nContent-Type: text/html\n\n<p>plain <b>text</b></p>\n"
        '--x\nContent-Type: image/png; name="a/b.png"\n\nabc\n--x--\n'
    )
    message = make_message(body, content_type="multipart/alternative; boundary=x")
    assert message.text == "plain text"
    assert message.attachments[0].filename == "a_b.png"


def test_a_calendar_part_tells_its_method() -> None:
    body = "--x\nContent-Type: text/calendar; charset=utf-8\n\nBEGIN:VCALENDAR\nMETHOD:REQUEST\nEND:VCALENDAR\n--x--\n"
    message = make_message(body, content_type="multipart/mixed; boundary=x")
    assert message.has_calendar
    assert message.calendar_method == "REQUEST"


def test_broken_base64_gives_what_it_can() -> None:
    message = make_message("SGVsbG8gdGhlcmU!\n%%", content_transfer_encoding="base64")
    assert message.text.startswith("Hello ther")


@pytest.mark.parametrize(
    ("value", "ids"),
    [
        ("<a@b.example>", ["<a@b.example>"]),
        ("20261123.1234@x.example", ["<20261123.1234@x.example>"]),
        ("20261123", ["<20261123>"]),
        ("=?utf-8?q?=3Ca=40b=2Eexample=3E?=", ["<a@b.example>"]),
        ("=?utf-8?q?=3Ca=40b?=\n =?utf-8?q?=2Eexample=3E?=", ["<a@b.example>"]),
        ("<a b@c.example>", ["<a b@c.example>"]),
        ("<a\n b@c.example>", ["<a b@c.example>"]),
        ("<[a]@b.example>", ["<[a]@b.example>"]),
        ("<no-at-sign>", ["<no-at-sign>"]),
        ("<a@b.example", ["<a@b.example>"]),
        ("<<a@b.example>>", ["<a@b.example>"]),
        ("< a@b.example >", ["<a@b.example>"]),
        ('<"a b"@c.example>', ['<"a b"@c.example>']),
        ("<" + "a" * 400 + "@b.example>", ["<" + "a" * 400 + "@b.example>"]),
        ('Your message of "Mon, 23 Nov" <a@b.example>', ["<a@b.example>"]),
        ("Ann's message of Monday", []),
        ("<>", []),
        ("", []),
        ("<" + "a" * 1_000 + ">", []),
    ],
)
def test_ids_are_read_as_they_stand(value: str, ids: list[str]) -> None:
    message = make_message(message_id=value, in_reply_to=value, references=f"<root@x.example> {value}")
    first = ids[0] if ids else None
    assert (message.message_id, message.in_reply_to) == (first, first)
    assert message.references[0] == "<root@x.example>"
    if value.startswith("<") and value.endswith(">"):
        assert list(message.references[1:]) == ids


def test_control_characters_are_no_part_of_a_subject() -> None:
    assert make_message(subject="=?utf-8?q?Question=07_about=0D=0ATuesday?=").subject == "Question about Tuesday"


@pytest.mark.parametrize("date", ["yesterday", "Tue, 99 Nov 2026", "Tue, 27 Aug 0102 23:35:10 +0700", "1 Jan 9999 +0"])
def test_unreadable_dates_are_none(date: str) -> None:
    message = make_message(date=date)
    assert message.date is None
    assert Defect.BAD_DATE in message.defects


def test_two_senders_are_noted_and_never_vouched_for() -> None:
    message = make_message(
        _from="b@example.org", authentication_results="mx.google.com; dmarc=pass header.from=example.org"
    )
    assert Defect.MANY_SENDERS in message.defects
    assert not message.dmarc_passed(frozenset({"mx.google.com"}))


@pytest.mark.parametrize(
    ("results", "passed"),
    [
        (("mx.google.com; spf=pass; dmarc=pass (p=REJECT) header.from=example.org",), True),
        (("mx.google.com; dmarc=fail",), False),
        (("mx.google.com; dmarc=fail (dmarc=pass)",), False),
        (("mx.google.com; dmarc=fail; dmarc=pass",), False),
        (("evil.example; dmarc=pass",), False),
        (("mx.google.com; dmarc=fail", "mx.google.com; dmarc=pass"), False),
        ((), False),
    ],
)
def test_only_the_receivers_newest_result_counts(results: tuple[str, ...], passed: bool) -> None:
    lines = "".join(f"Authentication-Results: {one}\n" for one in results).encode()
    assert parse_message(lines + raw_message()).dmarc_passed(frozenset({"mx.google.com"})) is passed
