"""Mail that is written a little wrong is read as a person means it."""

import base64
from collections.abc import Callable

import pytest

from domain.mail.parsing.limits import LONGEST_HTML, LONGEST_STYLES
from domain.mail.parsing.mime import parse_message
from domain.mail.parsing.parsed_message import Defect, ParsedMessage
from domain.mail.triage.prompts import classification_prompt, describe_mail

ASK = "Dear Bob, please pay by Friday."
FROM = b"From: Ann <ann@a.example>\r\n"


def part(body: bytes, content_type: str = "text/plain", encoding: str = "8bit") -> bytes:
    headers = f"Content-Type: {content_type}\r\nContent-Transfer-Encoding: {encoding}\r\n\r\n"
    return FROM + headers.encode() + body


def mixed(boundary: str, disposition: str = "attachment; filename=a.exe") -> bytes:
    name = boundary.strip('"').partition(" (")[0]
    body = f"--{name}\r\n\r\nhi\r\n--{name}\r\nContent-Disposition: {disposition}\r\n\r\nx\r\n--{name}--\r\n"
    return part(body.encode(), f"multipart/mixed; boundary={boundary}")


def jis(letters: bytes) -> bytes:
    return "こんにちは".encode("iso2022_jp") + letters


def people(message: ParsedMessage, header: str) -> list[tuple[str, str]]:
    found = message.to if header == "to" else (message.from_,)
    return [(one.name, one.address) for one in found if one]


TEXTS = {
    "a last letter of Latin-1": (part(b"Merci Andr\xe9"), "Merci André"),
    "a last letter of Latin-1 in UTF-8": (part(b"Merci Andr\xe9", "text/plain; charset=utf-8"), "Merci André"),
    "a cut last letter of UTF-8": (part("Grüße, grüß".encode()[:-1]), "Grüße, gr\u00fc"),
    "a letter of Latin-1 in UTF-8": (part("Grüße ".encode() + b"\xe9.", "text/plain; charset=utf-8"), "Grüße é."),
    "a letter of Latin-1 beside one of UTF-8": (part("für ".encode() + b"\xe9 x"), "für é x"),
    "blocks of base64": (part(b"SGVsbG8=\r\nIFdvcmxk\r\nIQ==\r\n", encoding="base64"), "Hello World!"),
    "a foot below base64": (part(b"SGVsbG8=\r\n\r\n--\r\nthe list's foot\r\n", encoding="base64"), "Hello"),
    "a letter of Latin-1 in ISO-2022": (part(jis(b" \xe9"), "text/plain; charset=iso-2022-jp"), "こんにちは \ufffd"),
    "UTF-16, high bytes first": (
        part(base64.b64encode("Hello Bob".encode("utf-16-be")), "text/plain; charset=utf-16", "base64"),
        "Hello Bob",
    ),
    "Chinese in UTF-16, high bytes first": (
        part(base64.b64encode("你好\r\n一二三\r\n".encode("utf-16-be")), "text/plain; charset=utf-16", "base64"),
        "你好\n一二三",
    ),
    "Chinese in UTF-16, low bytes first": (
        part(base64.b64encode("一一一一\r\n你好".encode("utf-16-le")), "text/plain; charset=utf-16", "base64"),
        "一一一一\n你好",
    ),
    "a soft break with blanks": (part(b"Hello wor= \t\r\nld= \r\n", encoding="quoted-printable"), "Hello world"),
    "no semicolon": (part(b"<p>Hi <b>x</b>", "text/html charset=utf-8"), "Hi x"),
    "an empty line first": (b"\r\n \r\n" + part(b"Hi"), "Hi"),
    "a byte order mark first": (b"\xef\xbb\xbf" + part(b"Hi"), "Hi"),
    "a byte order mark and an envelope": (b"\xef\xbb\xbfFrom ann\n" + part(b"Hi"), "Hi"),
}  # fmt: skip


@pytest.mark.parametrize(("raw", "text"), TEXTS.values(), ids=TEXTS.keys())
def test_the_text(raw: bytes, text: str) -> None:
    message = parse_message(raw)
    assert message.text == text
    assert people(message, "from") == [("Ann", "ann@a.example")]


def test_a_message_without_headers_keeps_its_words() -> None:
    assert parse_message(b"\r\nHi").text == "Hi"
    assert parse_message(b"\r\n\r\nHi\r\n\r\nNote: x").text == "Hi\n\nNote: x"


def test_what_follows_base64_and_is_none_is_noted() -> None:
    assert Defect.BAD_ENCODING in parse_message(TEXTS["a foot below base64"][0]).defects
    assert Defect.BAD_ENCODING not in parse_message(TEXTS["blocks of base64"][0]).defects


@pytest.mark.parametrize(
    "raw",
    [
        mixed("my bound"),
        mixed("----=_Part_(12)_3"),
        mixed("bound (a comment)"),
        mixed("bound", "filename=a.exe"),
        mixed("bound", "attachment filename=a.exe"),
        mixed("bound", 'attachment; filename="a.exe. "'),
        mixed("bound", 'attachment; filename="a.exe\u200b"'),
    ],
)
def test_the_parts_and_their_names(raw: bytes) -> None:
    message = parse_message(raw)
    assert message.text == "hi"
    assert [one.filename for one in message.attachments] == ["a.exe"]


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("Ann <a@x.example> Bob <b@y.example>", [("Ann", "a@x.example"), ("Bob", "b@y.example")]),
        ("<a@x.example><b@y.example>", [("", "a@x.example"), ("", "b@y.example")]),
        ("a@x.example b@y.example c@z.example", [("", "a@x.example"), ("", "b@y.example"), ("", "c@z.example")]),
        ("o@x.example, a@x.example b@y.example", [("", "o@x.example"), ("", "a@x.example"), ("", "b@y.example")]),
        ("=?utf-8?Q?Doe,_John?= <j@x.example>", [("Doe, John", "j@x.example")]),
        ("Dr =?utf-8?Q?Doe=3B_(Sales),_x:?= <j@x.example>", [("Dr Doe; (Sales), x:", "j@x.example")]),
        ("=?utf-8?Q?Ann_=3Cann=40a.example=3E?=", [("Ann", "ann@a.example")]),
        ("a=b <j@x.example>, =? <k@x.example>", [("a=b", "j@x.example"), ("=?", "k@x.example")]),
    ],
)
def test_the_recipients(value: str, found: list[tuple[str, str]]) -> None:
    assert people(parse_message(f"To: {value}\n\nHi".encode()), "to") == found


def test_the_subject() -> None:
    assert parse_message(b"Subject: Notre caf\xe9\n\n").subject == "Notre café"
    assert parse_message(b"Subject: =?utf-8?Q?caf=e9?=\n\n").subject == "café"
    flood = "\u200b" * 2_000
    assert parse_message(f"Subject: {flood}Pay now\n\n".encode()).subject == "Pay now"


FLOODS: dict[str, Callable[[], bytes]] = {
    "spaces without width": lambda: part(("\u200b" * 12_500 + ASK).encode()),
    "more of them than is kept": lambda: part(("\u200b" * 300_000 + ASK).encode()),
    "marks and joiners": lambda: part(("Hi\n\n" + "\u034f \u200c " * 3_100 + ASK).encode()),
    "line ends": lambda: part(("Hi\n" + "\n" * 13_000 + ASK).encode()),
    "blank lines": lambda: part(("Hi\n" + " \t\r\n" * 13_000 + ASK).encode()),
    "accents": lambda: part(("e" + "\u0301" * 13_000 + ASK).encode()),
    "fillers": lambda: part(("\u3164\u2800" * 13_000 + ASK).encode()),
    "a picture": lambda: page(f'<img src="data:image/png;base64,{"A" * 4_000_000}">'),
    "a picture in lines": lambda: page("<img src='data:image/png;base64,\r\n" + ("B" * 76 + "\r\n") * 40_000 + "'>"),
    "a comment": lambda: page("<!-- " + "x" * (LONGEST_HTML // 2) + " -->"),
    "a style sheet": lambda: page("<style>" + "/*x*/\n" * (LONGEST_STYLES // 3) + "</style>"),
    "entities": lambda: page("&zwnj;&#8203;&nbsp;" * 30_000),
    "a script": lambda: page("<script>" + "x();\n" * 150_000 + "</script>"),
}


def page(markup: str) -> bytes:
    return part(f"<div>{markup}</div><p>{ASK}</p>".encode(), "text/html; charset=utf-8")


@pytest.mark.parametrize("raw", FLOODS.values(), ids=FLOODS.keys())
def test_nothing_that_nobody_sees_pushes_the_words_out_of_sight(raw: Callable[[], bytes]) -> None:
    message = parse_message(raw())
    assert message.text.endswith(ASK)
    assert Defect.TRUNCATED_TEXT not in message.defects
    assert ASK in classification_prompt(message, "b" * 16).mail


def test_a_name_of_what_nobody_sees_hides_no_header() -> None:
    unseen = "\u200b" * 150
    raw = f"From: {unseen}Ann <ann@a.example>\nSubject: {unseen * 6}Pay\n\n{ASK}"
    assert describe_mail(parse_message(raw.encode())).startswith("From: Ann <ann@a.example>\nSubject: Pay\n")


def test_words_in_front_of_too_many_attributes_stay_and_the_rest_is_said_to_be_missing() -> None:
    tag = "<p " + " ".join(f"a{number}" for number in range(300)) + ">"
    message = parse_message(part(f"<p>{ASK}{tag}more".encode(), "text/html"))
    assert message.text == ASK
    assert "its end is missing" in describe_mail(message)
