"""Text is read as every reader reads it: by the WHATWG's labels, and by what a page says of itself."""

import pytest
import webencodings
from hypothesis import given
from hypothesis import strategies as st
from webencodings.labels import LABELS

from domain.mail.parsing.charsets import find_charset
from domain.mail.parsing.html_text import html_to_text, unescape
from domain.mail.parsing.mail_encoding import decode_text
from domain.mail.parsing.mime import parse_message
from domain.mail.parsing.parsed_message import Defect

BROWSERS_READ_NOTHING = {label for label, name in LABELS.items() if name == "replacement"}


@given(st.sampled_from(sorted(set(LABELS) - BROWSERS_READ_NOTHING)), st.sampled_from(["{}", " {} ", '"{}"']))
def test_every_label_of_the_standard_is_the_standard_s_charset(label: str, shape: str) -> None:
    found = find_charset(shape.format(label.upper()))
    assert found is webencodings.lookup(label)


@pytest.mark.parametrize(
    ("data", "charset", "text"),
    [
        (b"\x93quoted\x94 \x80 9", "ISO-8859-1", "\u201cquoted\u201d \u20ac 9"),
        (b"\x93quoted\x94", "latin1", "\u201cquoted\u201d"),
        ("镕".encode("gbk"), "gb2312", "镕"),
        ("믜".encode("cp949"), "euc-kr", "믜"),
        ("믜".encode("cp949"), "ks_c_5601-1987", "믜"),
        ("嘅".encode("big5hkscs"), "big5", "嘅"),
        ("①".encode("cp932"), "shift_jis", "①"),
        (b"\xe9t\xe9", "iso-8859-15", "été"),
        ("één".encode("cp850"), "cp850", "één"),
        ("안녕".encode("iso2022_kr"), "iso-2022-kr", "안녕"),
        (b"\xef\xbb\xbfgr\xc3\xbc\xc3\x9fe", "iso-8859-1", "grüße"),
        ("ü".encode("utf-16-le"), "utf-16", "ü"),
    ],
)
def test_known_texts(data: bytes, charset: str, text: str) -> None:
    assert decode_text(data, charset) == (text, True)


@pytest.mark.parametrize("name", ["hex", "rot13", "zlib", "mbcs", "undefined", "punycode", "klingon", "a" * 41, "ü"])
def test_what_is_no_charset_is_none(name: str) -> None:
    assert find_charset(name) is None


@given(st.text(max_size=60))
def test_any_name_is_a_charset_or_none(name: str) -> None:
    found = find_charset(name)
    assert found is None or isinstance(decode_text(b"abc\xff", name)[0], str)


def page(markup: bytes, charset: str = "") -> bytes:
    named = f"; charset={charset}" if charset else ""
    return b"From: a@example.org\nContent-Type: text/html" + named.encode() + b"\n\n" + markup


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (page(b"<meta charset=koi8-r>\xf0\xd2\xc9\xd7\xc5\xd4"), "Привет"),
        (page(b'<META http-equiv=x content="text/html; charset=koi8-r">\xf0\xd2\xc9\xd7\xc5\xd4'), "Привет"),
        (page(b"<meta charset=koi8-r>\xf0\xd2\xc9\xd7\xc5\xd4", "us-ascii"), "Привет"),
        (page(b"<meta charset=koi8-r>\xcf\xf0\xe8", "windows-1251"), "При"),
        (page("<meta charset=utf-16>grüße".encode()), "grüße"),
        (page(b"x" * 1_100 + b"<meta charset=koi8-r>\xc3\xbc"), "x" * 1_100 + "ü"),
    ],
)
def test_a_page_that_names_its_charset_is_read_in_it(raw: bytes, text: str) -> None:
    message = parse_message(raw)
    assert message.text == text
    assert Defect.BAD_CHARSET not in message.defects


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<head><title>x</title>words", "words"),
        ("<html><head><meta charset=x><p>words</p>", "words"),
        ("<head><style>p {}</style><p>words", "words"),
        ("<title>words that end nowhere", "words that end nowhere"),
        ("<select><svg>words", "words"),
        ("<style>p {} <body>words", "words"),
        ("<noscript>words</noscript>", "words"),
        ("<svg>lines</svg>words", "words"),
    ],
)
def test_what_is_never_closed_loses_no_text(markup: str, text: str) -> None:
    assert html_to_text(markup) == text


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("&#" + "9" * 5_000 + ";", "\ufffd"),
        ("&#x" + "f" * 5_000 + ";", "\ufffd"),
        ("&#" + "0" * 5_000 + "65;", "A"),
        ("&#0000065; &#x000041 &#128; &#xD800;", "A A \u20ac \ufffd"),
        ("&#9999999;", "\ufffd"),
    ],
)
def test_a_number_that_no_character_has_is_no_error(text: str, read: str) -> None:
    assert unescape(text) == read
