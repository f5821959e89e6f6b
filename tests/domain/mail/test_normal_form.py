"""What looks the same to a reader is the same to a rule."""

from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.mail.normal_form import normal_form, normal_pattern, normalized, searched_forms

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


def test_marks_on_one_letter_cost_no_more_than_their_number() -> None:
    began = process_time()
    for form in ("NFC", "NFKC"):
        assert len(normalized(form, "a" + "\u0315\u0300" * 100_000)) < 40
    assert process_time() - began < 2
