"""Patterns of users, in a linear engine: ordinary ones are taken, and one that compares nothing is known."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.failures import Invalid
from domain.mail.rule_language.safe_pattern import (
    LARGEST_PROGRAM,
    LONGEST_SEARCHED,
    compiled,
    found_in,
    matches_everything,
)
from domain.orgs.spelling.normal_form import normal_pattern, searched_forms

ORDINARY = [
    r"invoice\s+#?\d+",
    r"^\[jira\]",
    r"(order|invoice|receipt)[ -]?(no\.?|number)",
    r".*urgent.*",
    r"\b[A-Z]{2}\d{9}[A-Z]{2}\b",
    r"(?:re|fwd?):\s*",
    r"[\w.+-]+@example\.(com|org)",
    r"(?s)dear.*regards",
    "ß|é|日本",
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    r"[A-Z]{2}\d{2}(?: ?\d{4}){4} ?\d{1,2}",
    r"(?:\d{1,3}\.){3}\d{1,3}",
    r".{0,100}x",
    "(a+)+$",
    r"(\w+\s?)*!$",
]
REFUSED = ["(", "[", "a**", "(?=a)", "(?<!a)b", r"(a)\1", r"a\Z", "(?x)a", "a{1001}", "a++", "(?>a)", r"\pL{200}"]


@pytest.mark.parametrize("pattern", ORDINARY)
def test_an_ordinary_pattern_passes(pattern: str) -> None:
    assert compiled(pattern).programsize <= LARGEST_PROGRAM


@pytest.mark.parametrize("pattern", REFUSED)
def test_what_a_linear_engine_cannot_do_is_refused_by_field(pattern: str) -> None:
    with pytest.raises(Invalid) as refusal:
        compiled(pattern)
    assert refusal.value.field == "matches"


@given(st.text(max_size=50))
def test_a_pattern_is_taken_or_refused_whatever_it_is(pattern: str) -> None:
    with suppress(Invalid):
        assert compiled(pattern).programsize <= LARGEST_PROGRAM


@given(st.text(st.characters(categories=["L", "N", "P", "Zs", "Cs"]), max_size=20))
def test_any_text_is_searched(text: str) -> None:
    assert found_in("ODD", f"{text}odd")
    assert not found_in(r"^\x{10ffff}$", text)


def test_the_end_of_a_long_text_is_not_searched() -> None:
    assert not found_in("z", "é" * LONGEST_SEARCHED + "z")
    assert found_in("z", "é" * (LONGEST_SEARCHED - 1) + "z")


EVERYTHING = [
    ".*",
    ".+",
    ".",
    "x?",
    "a*",
    "^",
    "$",
    ".+$",
    "^.*",
    r"\w*",
    "(?s).*",
    "(a|b|)",
    "(?i).*",
    r"[\s\S]",
    "|x",
    "(.*)",
]
WHOLE_LINES = ["^.*$", "^.+$", "^(a|.)+$"]
SOMETHING = [
    "invoice", "^$", "^a*$", "[^x]", "^[^x]", r"\w", r"\d+$", ".{3,}", r"(x)?.*\b", "^[^@]+$",
    ".*invoice.*", r"^\[jira\]", r"a\$", "^(a|b)$",
]  # fmt: skip


@given(text=st.text(st.characters(exclude_characters="\n"), min_size=1, max_size=30))
@pytest.mark.parametrize("pattern", EVERYTHING + WHOLE_LINES)
def test_a_pattern_that_compares_nothing_is_found_in_every_text(pattern: str, text: str) -> None:
    assert matches_everything(pattern, has_lines=False)
    assert matches_everything(pattern, has_lines=True) == (pattern not in WHOLE_LINES)
    assert found_in(pattern, text)


@pytest.mark.parametrize("pattern", SOMETHING)
def test_a_pattern_that_leaves_something_out_is_not_told_to_match_everything(pattern: str) -> None:
    assert not matches_everything(pattern, has_lines=False)


@pytest.mark.parametrize(
    ("pattern", "text", "is_found"),
    [
        (r"^\w+ hat", "Jörg hat", True),
        (r"[\w.]+@x", "ü@x", True),
        (r"caf\w!", "CAFÉ!", True),
        (r"(^|\W)щит(\W|$)", "ваш щит: 5", True),
        (r"(^|\W)щит(\W|$)", "щитовой щиты", False),
        (r"\w+", "\u201c\u2014\u201d \u2764", False),
        (r"\binvoice\b", "an invoice.", True),
        (r"a\\w", r"a\w", True),
        (r"\Q\w\E", r"\w", True),
        (r"[]\w]\W[^\w]x", "é\u201c x", True),
    ],
)
def test_a_word_has_letters_of_all_languages(pattern: str, text: str, is_found: bool) -> None:
    assert any(found_in(normal_pattern(pattern), form) for form in searched_forms(text)) is is_found
