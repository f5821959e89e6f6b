"""Encoded words and parameters as mailers write them, which is seldom as RFC 2047 and RFC 2231 ask."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.mail.parsing.encoded_words import decode_words
from domain.mail.parsing.header_text import bare_text
from domain.mail.parsing.limits import LONGEST_FILENAME
from domain.mail.parsing.mime import parse_message


@pytest.mark.parametrize(
    ("header", "text"),
    [
        ("=?utf-8?Q?Kommst_du_mit?_J=C3=A4??=", "Kommst du mit? Jä?"),
        ("=?utf-8?Q?Kommst_du_mit=3F_Ja=3F?=", "Kommst du mit? Ja?"),
        ("=?utf-8?q?Was?=C3=A4h??=", "Was?äh?"),
        ("=?utf-8?Q?a?b?= =?utf-8?Q?c?d?=", "a?bc?d"),
        ("=?utf-8?Q???=", "?"),
        ("=?utf-8?Q??=", ""),
        ("Re: =?utf-8?Q?who?_me??= and you?", "Re: who? me? and you?"),
        ("=?utf-8?B?SmE/?=", "Ja?"),
        ("=?utf-8?B?SmE=?=", "Ja"),
        ("=?utf-8?B?SmE?=", "Ja"),
        ("=?utf-8*de?q?J=C3=A4?=", "Jä"),
        ("=?utf-8?q?never ends =?utf-8?q?J=C3=A4?=", "=?utf-8?q?never ends Jä"),
        ("=?utf-8?q?a?==?utf-8?q?b?=", "ab"),
        ("a =? b ?= c", "a =? b ?= c"),
        ("=?iso-2022-jp?B?GyRCRnxLXBsoQg==?=", "日本"),
        ("=?utf-8?Q?two words?=", "two words"),
    ],
)
def test_words_are_decoded(header: str, text: str) -> None:
    assert decode_words(header) == text


@given(st.text(st.sampled_from("aé?=_ ß"), max_size=20).filter(lambda text: "?=" not in text and "=" not in text))
def test_question_marks_in_a_word_stay(text: str) -> None:
    encoded = "".join(
        one if one in "a?" else "_" if one == " " else "".join(f"={b:02X}" for b in one.encode()) for one in text
    )
    assert decode_words(f"=?utf-8?Q?{encoded}?=") == text


def filename(disposition: str, content_type: str = "application/octet-stream") -> str:
    raw = f"From: a@example.org\nContent-Type: {content_type}\nContent-Disposition: {disposition}\n\nx"
    return parse_message(raw.encode()).attachments[0].filename


@pytest.mark.parametrize(
    ("disposition", "name"),
    [
        ("attachment; filename=Partner Agreement Week 11.pdf", "Partner Agreement Week 11.pdf"),
        ("attachment; filename=a b.pdf; size=3", "a b.pdf"),
        ("attachment; filename=a b.pdf size=3", "a b.pdf"),
        ("attachment; filename=Q1 a=b.pdf", "Q1 a=b.pdf"),
        ("attachment; filename=scan (2).pdf", "scan (2).pdf"),
        ('attachment; filename="a b.pdf', "a b.pdf"),
        ('attachment; filename="a"b".pdf"', 'a"b".pdf'),
        ('attachment; filename="C:\\docs\\a.pdf"', "C:_docs_a.pdf"),
        ('attachment; filename="say \\"hi\\".txt"', 'say "hi".txt'),
        ("(comment) attachment; filename=a.pdf", "a.pdf"),
        ("attachment; filename*=utf-8''%E2%82%AC%20rates.pdf", "€ rates.pdf"),
        ("attachment; filename=\"EUR.pdf\"; filename*=utf-8''%E2%82%AC.pdf", "€.pdf"),
        ("attachment; filename*0*=utf-8''%E2%82; filename*1*=%AC.pdf", "€.pdf"),
        ('attachment; filename*1="b.pdf"; filename*0="a"', "ab.pdf"),
        ('attachment; filename*0="a"; filename*2="c.pdf"', "ac.pdf"),
        ("attachment; filename*0=a b; filename*1= c.pdf", "a bc.pdf"),
        ("attachment; filename==?utf-8?Q?=E2=82=AC?= =?utf-8?Q?_rates.pdf?=", "€ rates.pdf"),
        ('attachment; filename="=?utf-8?Q?=E2=82=AC?=.pdf"', "€.pdf"),
        ("attachment; filename=a.pdf;", "a.pdf"),
        ("attachment;filename=a.pdf", "a.pdf"),
        ("ATTACHMENT; FileName=a.pdf", "a.pdf"),
        ("attachment; filename=", ""),
    ],
)
def test_names_of_files(disposition: str, name: str) -> None:
    assert filename(disposition) == name


@pytest.mark.parametrize(
    "shape", ['attachment; filename="{}"', "attachment; filename={}", "attachment; filename*=utf-8''{}"]
)
@given(length=st.integers(1, 9_000), ending=st.sampled_from([".exe", ".pdf.exe", ".tar.gz"]))
def test_however_long_a_name_is_its_ending_stays(shape: str, length: int, ending: str) -> None:
    found = filename(shape.format("a" * length + ending))
    assert found.startswith("a")
    assert found.endswith(ending)
    assert len(found) <= LONGEST_FILENAME


@pytest.mark.parametrize(
    ("value", "bare"),
    [
        ("(vacation) auto-replied", "auto-replied"),
        ("auto-replied (vacation)", "auto-replied"),
        ('"auto-replied"', "auto-replied"),
        ("(a (b) c) auto-replied", "auto-replied"),
        ("(a \\) b) auto-replied", "auto-replied"),
        ('(a ")" b) auto-replied', "auto-replied"),
        ("(never closed auto-replied", "never closed auto-replied"),
        ('"a (no comment)"', "a (no comment)"),
        ("a) b", "a b"),
        ("", ""),
    ],
)
def test_comments_and_quotes_mean_nothing(value: str, bare: str) -> None:
    assert bare_text(value) == bare
