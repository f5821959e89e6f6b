"""A profile is checked field by field before anybody can use it."""

from typing import Any

import pytest

from domain.jobs.failures import Invalid
from domain.models.agents.profile import SearchScope, ToolName, parse_profile

GOOD: dict[str, Any] = {
    "name": "front-desk",
    "prompt": "Be kind.",
    "model": "claude-haiku-5-5",
    "tools": ["read_thread", "draft_reply"],
}


def test_what_is_left_out_is_the_careful_choice() -> None:
    made = parse_profile(GOOD)
    assert made.tools == (ToolName.READ_THREAD, ToolName.DRAFT_REPLY)
    assert (made.may_reply, made.labels, made.search) == (False, (), SearchScope.CORRESPONDENTS)
    assert (made.limits.turns, made.limits.microcents, made.limits.seconds) == (8, 20_000_000, 240)


def test_a_profile_survives_json() -> None:
    made = parse_profile({**GOOD, "tools": ["apply_label"], "labels": ["Bills"], "limits": {"turns": 3}})
    assert parse_profile(made.model_dump(mode="json")) == made


def test_limits_are_narrowed_and_never_widened() -> None:
    own = parse_profile(GOOD).limits
    assert own.narrowed({"turns": 3, "seconds": 10_000, "microcents": None}) == own.model_copy(update={"turns": 3})
    assert own.narrowed({}) == own


@pytest.mark.parametrize(
    ("field", "changes"),
    [
        ("name", {"name": "Front desk"}),
        ("name", {"name": ""}),
        ("name", {"name": "a" * 64}),
        ("prompt", {"prompt": "   "}),
        ("prompt", {"prompt": "x" * 8_001}),
        ("prompt", {"prompt": "Log in with https://ada:hunter22@example.com/"}),
        ("model", {"model": "Claude; drop table"}),
        ("tools", {"tools": []}),
        ("tools.0", {"tools": ["send_mail"]}),
        ("tools", {"tools": ["archive", "archive"]}),
        ("labels", {"labels": ["Bills"]}),
        ("labels", {"tools": ["apply_label"]}),
        ("labels", {"tools": ["apply_label"], "labels": ["x"] * 51}),
        ("may_reply", {"may_reply": True}),
        ("may_reply", {"tools": ["reply"]}),
        ("may_reply", {"may_reply": "yes"}),
        ("search", {"search": "everything"}),
        ("limits.turns", {"limits": {"turns": 0}}),
        ("limits.turns", {"limits": {"turns": 51}}),
        ("limits.microcents", {"limits": {"microcents": 0}}),
        ("limits.seconds", {"limits": {"seconds": 481}}),
        ("limits.turns", {"limits": {"turns": 2.5}}),
        ("limits.hours", {"limits": {"hours": 1}}),
        ("recipient", {"recipient": "a@example.com"}),
    ],
)
def test_what_is_wrong_is_refused_by_field(field: str, changes: dict[str, Any]) -> None:
    with pytest.raises(Invalid) as refusal:
        parse_profile(GOOD | changes)
    assert refusal.value.field == field
