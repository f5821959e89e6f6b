"""Text is read as every reader reads it: by the WHATWG's labels, and by what a page says of itself."""

import pytest
import webencodings
from hypothesis import given
from hypothesis import strategies as st
from webencodings.labels import LABELS

from domain.mail.parsing.charsets import find_charset
from domain.mail.parsing.html_text import html_to_text
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


RUSSIAN = "Здравствуйте, Анна! Подскажите, подходит ли вам вторник?"
JAPANESE = "お世話になっております。見積書を送ってください。"
CHINESE = "你好。请问星期二可以吗。请把合同发给我。谢谢。"
KOREAN = "안녕하세요, 화요일에 만날 수 있을까요? 견적서를 보내 주세요."


@pytest.mark.parametrize(
    ("text", "written"),
    [
        (RUSSIAN, "koi8-r"),
        (RUSSIAN, "cp1251"),
        (RUSSIAN, "utf-8"),
        (JAPANESE, "cp932"),
        (JAPANESE, "euc-jp"),
        (JAPANESE, "iso2022_jp"),
        (JAPANESE, "utf-8"),
        (CHINESE, "gb18030"),
        (CHINESE, "utf-8"),
        ("你好。請問星期二可以嗎。請把合約寄給我。謝謝。", "big5"),
        (KOREAN, "cp949"),
        (KOREAN, "iso2022_kr"),
        ("Καλημέρα, μπορείτε να έρθετε την Τρίτη; Παρακαλώ απαντήστε.", "cp1253"),  # noqa: RUF001  # Greek letters are meant
        ("Dzień dobry, czy możesz przyjść we wtorek? Proszę o szybką odpowiedź. Żółw.", "cp1250"),
        ("สวัสดีครับ เราเลื่อนการประชุมไปวันพุธได้ไหม ขอบคุณสำหรับคำตอบ", "cp874"),
        ("مرحبا، هل يمكننا تأجيل الاجتماع إلى يوم الأربعاء؟ شكرا على الرد السريع.", "iso8859_6"),
        ("Grüße aus Köln: können Sie am Dienstag?", "cp1252"),
        ("Été à Paris, où êtes-vous ? « Ça va »", "cp1252"),
        ("Grüße", "cp1252"),
        ("Grüße", "utf-8"),
    ],
)
@pytest.mark.parametrize("claimed", ["", "us-ascii", "x-unknown", "klingon", "iso-2022-jp", "utf-8"])
def test_text_is_readable_whatever_charset_it_claims(text: str, written: str, claimed: str) -> None:
    assert decode_text(text.encode(written), claimed)[0] == text


@pytest.mark.parametrize(
    "claimed", ["iso-8859-1", "windows-1252", "koi8-r", "gb2312", "shift_jis", "euc-kr", "big5", "utf-16"]
)
@pytest.mark.parametrize("text", ["Grüße aus Köln, schön", RUSSIAN, JAPANESE, CHINESE])
def test_utf_8_is_known_under_any_other_name(text: str, claimed: str) -> None:
    assert decode_text(text.encode(), claimed) == (text, False)


@pytest.mark.parametrize(
    ("data", "claimed", "text"),
    [
        ("联通".encode("gbk"), "gb2312", "联通"),
        (b"\x1b$B-!\x1b(B", "iso-2022-jp", "①"),
        (b"\x1b(I6\x1b(B \x1b$BF|\x1b(B", "", "ｶ 日"),
        (b"\x1b$@F|\x1b(J", "utf-8", "日"),
        ("日本語".encode() + b"\xff", "utf-8", "日本語\ufffd"),
        ("日本語".encode()[:-1], "", "日本"),
        ("ü".encode("utf-16"), "", "ü"),
        (b"5\xb0 \xa7 3", "", "5° § 3"),
    ],
)
def test_edges_of_charsets(data: bytes, claimed: str, text: str) -> None:
    assert decode_text(data, claimed)[0] == text


@pytest.mark.parametrize("written", ["iso2022_jp", "cp932", "euc-jp", "utf-8"])
def test_headers_with_raw_letters_are_readable(written: str) -> None:
    message = parse_message(b"Subject: " + JAPANESE.encode(written) + b"\nFrom: a@example.org\n\nx")
    assert message.subject == JAPANESE


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
        ("<p>words<b", "words"),
        ("<blockquote>words", "> words"),
        ("<table><td>words", "words"),
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
    assert html_to_text(text) == read
