"""Patterns that try every split of a text are found when they are saved; ordinary ones pass."""

from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from domain.mail.triage.safe_pattern import Pattern, found_in, matches_everything, runs_away

RUNAWAY = [
    r"(a+)+$",
    r"(?:a|aa)+(?<=b)c$",
    r"(\w+\s?)*!$",
    r"([a-z0-9]+)*@x$",
    r"(x|x)*y$",
    r"^(([a-z])+.)+[A-Z]([a-z])+$",
]
ORDINARY = [
    r"invoice\s+#?\d+",
    r"^\[jira\]",
    r"(order|invoice|receipt)[ -]?(no\.?|number)",
    r".*urgent.*",
    r"\b[A-Z]{2}\d{9}[A-Z]{2}\b",
    r"(?:re|fwd?):\s*",
    r"^(?!.*unsubscribe).*$",
    r"[\w.+-]+@example\.(com|org)",
    r"(?s)dear.*regards",
    "ß|é|日本",
]


@pytest.mark.parametrize("pattern", RUNAWAY)
def test_a_runaway_pattern_is_found(pattern: str) -> None:
    assert runs_away(pattern)


@pytest.mark.parametrize("pattern", ORDINARY)
def test_an_ordinary_pattern_passes(pattern: str) -> None:
    assert not runs_away(pattern)


COUNTING = [
    "a{16777216}",
    "(?:a{3000}){3000}",
    "(?:(?:a{200}){200}){200}",
    "((a|b){1000,}){1000,}",
    "(?x)(?:ab){ 10000000 }",
    f"(?:{'ab' * 200}){{100000}}",
]
COUNTED = [
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    r"[A-Z]{2}\d{2}(?: ?\d{4}){4} ?\d{1,2}",
    r"(?:\d{1,3}\.){3}\d{1,3}",
    r".{0,60000}x",
]


@pytest.mark.parametrize("pattern", COUNTING)
def test_a_pattern_that_would_be_copied_without_end_is_refused_before_it_is_compiled(pattern: str) -> None:
    started = process_time()
    with pytest.raises(ValidationError, match="counts too far"):
        TypeAdapter(Pattern).validate_python(pattern)
    assert runs_away(pattern)
    assert process_time() - started < 0.5


@pytest.mark.parametrize("pattern", COUNTED)
def test_ordinary_counts_are_taken(pattern: str) -> None:
    assert TypeAdapter(Pattern).validate_python(pattern) == pattern


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
    "invoice", "^$", "^a*$", "[^x]", "^[^x]", "^(?!re:)", "(?<!x)y?", r"\w", r"\d+$", ".{3,}", r"(x)?.*\b", "^[^@]+$",
    ".*invoice.*", r"^\[jira\]", r"a\$", "^(a|b)$", "(?!spam).",
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
