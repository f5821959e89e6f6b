"""Patterns that try every split of a text are found when they are saved; ordinary ones pass."""

import pytest

from domain.mail.triage.safe_pattern import runs_away

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
