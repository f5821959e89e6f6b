"""What looks the same to a reader is the same to a rule."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.orgs.spelling.normal_form import normal_form, normal_pattern, normalized, searched_forms, visible

SAME = {
    "İSTANBUL": "istanbul",
    "i\u0307stanbul": "Istanbul",
    "DIYARBAKIR": "d\u0131yarbak\u0131r",
    "the\u00a0open invoice": "the open invoice",
    "overdue since\nMonday": "overdue since Monday",
    "overdue since \r\n\tMonday": "overdue since Monday",
    "line\u2028end": "line end",
    "in\u200bvo\u00adice": "invoice",
    "pay\u202ement\ufeff": "payment",
    "Ｉｎｖｏｉｃｅ　５": "invoice 5",  # noqa: RUF001 - letters that look alike are what is tested
    "ﬁnal oﬀer": "final offer",
    "Re\u0301union": "Réunion",
    "STRASSE": "straße",
    "ΟΔΟΣ": "οδος",
    "㈱": "(株)",
    "❤\ufe0f": "❤",
    "\u2800pay": "pay",
}


@pytest.mark.parametrize(("text", "other"), SAME.items())
def test_looks_alike(text: str, other: str) -> None:
    assert normal_form(text) == normal_form(other)


@given(st.text(max_size=200))
def test_a_normal_form_is_its_own(text: str) -> None:
    assert normal_form(normal_form(text)) == normal_form(text)
    assert "\n" not in normal_form(text)


def test_a_pattern_is_searched_in_lines_and_in_paragraphs_but_never_over_their_ends() -> None:
    lines, paragraphs = searched_forms("Dear Ada,\n\nplease pay the\nopen  invoice.\n \nTotal: 5")
    assert lines == "dear ada,\n\nplease pay the\nopen invoice.\n\ntotal: 5"
    assert paragraphs == "dear ada,\nplease pay the open invoice.\ntotal: 5"
    assert searched_forms("one line") == ("one line",)


@given(st.text(max_size=60))
def test_a_pattern_of_ascii_stays_as_it_is(pattern: str) -> None:
    ascii_only = pattern.encode("ascii", "ignore").decode()
    assert normal_pattern(ascii_only) == ascii_only


def test_letters_of_a_pattern_are_levelled_and_never_become_syntax() -> None:
    assert normal_pattern(r"^İstanbul\s(a|Ü)$") == r"^istanbul\s(a|ü)$"
    assert normal_pattern("（a＋") == r"\(a\+"  # noqa: RUF001 - letters that look alike are what is tested


@pytest.mark.parametrize(
    "text",
    [
        "\U0001f468\u200d\U0001f469\u200d\U0001f467",
        "❤\ufe0f\u200d\U0001f525 ❤\ufe0f",
        "1\ufe0f\u20e3",
        "\U0001f3f3\ufe0f\u200d\U0001f308",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        "\u0d28\u0d4d\u200d \u0d15\u0d4d\u200c\u0d37",
        "\u0995\u09cd\u200d\u09af",
        "a\u0301\u0323",
        "a\n\n\nb",
        "a\tb",
        " a ",
        "日本語",
        "\U0001fae8",
    ],
)
def test_what_a_reader_sees_stays(text: str) -> None:
    assert visible(text) == text


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("a\u200b\u202eb", "ab"),
        ("x" + "\u200c\u200d" * 30, "x"),
        ("\u0645\u06cc\u200c\u200c\u200d\u062e", "\u0645\u06cc\u200c\u062e"),
        ("\U0001f600" + "".join(chr(0xE0100 + number) for number in range(41)), "\U0001f600"),
        ("\U0001f600\ufe0f\ufe0f\ufe0e", "\U0001f600\ufe0f"),
        ("\u2060\ufe0f\u061c\u200c" * 20 + "x", "x"),
        ("x\u3164\u115f\u1160\uffa0\u2800\u17b4\u180b\u034f", "x"),
        ("a\r\nb\rc\x0bd\u2028e", "a\nb\nc\nd\ne"),
        ("a" + "\n \t" * 9 + "\nb", "a\n\n\nb"),
        ("a" + " " * 999 + "b", "a" + " " * 40 + "b"),
        ("e" + "\u0301" * 999, "e" + "\u0301" * 30),
        ("\x00\x08\x9f\ue000\U000f0000\ufdd0x", "x"),
    ],
)
def test_what_no_reader_sees_goes(text: str, seen: str) -> None:
    assert visible(text) == seen


@given(st.text(max_size=200))
def test_what_is_visible_stays_visible(text: str) -> None:
    assert visible(visible(text)) == visible(text)
    assert visible(text).split() == [word for word in map(visible, visible(text).split()) if word]


def test_marks_on_one_letter_cost_no_more_than_their_number() -> None:
    for form in ("NFC", "NFKC"):
        assert len(normalized(form, "a" + "\u0315\u0300" * 100_000)) < 40
