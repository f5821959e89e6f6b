"""Operators add, list, show, disable and enable profiles, and look at runs."""

import json
from uuid import UUID, uuid4

import pytest

from commands import agents
from tests.commands.calling import answer, call, refusal

pytestmark = pytest.mark.usefixtures("process")
PROFILE = json.dumps({"prompt": "Be kind.", "model": "claude-haiku-5-5", "tools": ["read_thread", "draft_reply"]})


def test_a_profile_from_its_beginning_to_its_end(org: UUID) -> None:
    made = answer(agents, "add", "desk", "--org", org, "--profile", PROFILE, "--as", "ada")
    assert (made["name"], made["version"], made["enabled"], made["created_by"]) == ("desk", 1, True, "operator:ada")
    assert made["definition"]["limits"]["turns"] == 8
    answer(agents, "add", "desk", "--org", org, "--profile", "-", typed=PROFILE)
    assert [row["version"] for row in answer(agents, "list", "--org", org)] == [2]
    assert [row["version"] for row in answer(agents, "show", "desk", "--org", org)] == [2, 1]
    disabled = answer(agents, "disable", "desk", "--org", org, "--reason", "too eager")
    assert (disabled["version"], disabled["enabled"], disabled["disabled_reason"]) == (2, False, "too eager")
    assert answer(agents, "enable", "desk", "--org", org)["enabled"]
    assert "desk" in call(agents, "list").output
    assert answer(agents, "runs", "--org", org) == []
    assert answer(agents, "turns", uuid4()) == []


@pytest.mark.parametrize(
    ("name", "profile", "words"),
    [
        ("Front desk", PROFILE, "name: "),
        ("desk", "{}", "prompt: "),
        ("desk", "[]", "profile: is no JSON object"),
        ("desk", PROFILE.replace("draft_reply", "send_mail"), "tools.1: "),
        ("desk", PROFILE.replace("draft_reply", "reply"), "may_reply: goes with the tool reply"),
    ],
)
def test_a_profile_that_cannot_be_used_is_refused_by_field(org: UUID, name: str, profile: str, words: str) -> None:
    assert words in refusal(agents, "add", name, "--org", org, "--profile", profile)
    assert answer(agents, "list") == []


def test_a_mailbox_of_another_org_and_an_unknown_profile_are_refused(org: UUID) -> None:
    assert "account: is no mailbox" in refusal(
        agents, "add", "desk", "--org", org, "--account", uuid4(), "--profile", PROFILE
    )
    assert "no profile desk" in refusal(agents, "disable", "desk", "--org", org)
