"""Operators add, list, show, disable and enable profiles, and look at runs."""

import json
from uuid import UUID, uuid4

import pytest

from commands.operations import AREAS
from storage.postgres.database import Database
from tests.commands.calling import answer, call, refusal
from tests.doubles.mail_factories import make_account

pytestmark = pytest.mark.usefixtures("process")
AGENTS = AREAS.agents
PROFILE = json.dumps({"prompt": "Be kind.", "model": "claude-haiku-5-5", "tools": ["read_thread", "draft_reply"]})


def test_a_profile_from_its_beginning_to_its_end(org: UUID) -> None:
    made = answer(AGENTS, "add", "desk", "--org", org, "--profile", PROFILE, "--as", "ada")
    assert (made["name"], made["version"], made["enabled"], made["created_by"]) == ("desk", 1, True, "operator:ada")
    assert made["definition"]["limits"]["turns"] == 8
    answer(AGENTS, "add", "desk", "--org", org, "--profile", "-", typed=PROFILE)
    assert [row["version"] for row in answer(AGENTS, "list", "--org", org)] == [2]
    assert [row["version"] for row in answer(AGENTS, "show", "desk", "--org", org)] == [2, 1]
    disabled = answer(AGENTS, "disable", "desk", "--org", org, "--reason", "too eager")
    assert (disabled["version"], disabled["enabled"], disabled["disabled_reason"]) == (2, False, "too eager")
    assert answer(AGENTS, "enable", "desk", "--org", org)["enabled"]
    assert "desk" in call(AGENTS, "list").output
    answer(AGENTS, "add", "back", "--org", org, "--profile", PROFILE)
    first = call(AGENTS, "list", "--org", org, "--limit", 1, "--json")
    assert [one["name"] for one in json.loads(first.stdout)] == ["back"]
    rest = answer(AGENTS, "list", "--org", org, "--cursor", first.stderr.split()[-1])
    assert [(one["name"], one["version"]) for one in rest] == [("desk", 2)]
    newest = call(AGENTS, "show", "desk", "--org", org, "--limit", 1, "--json")
    older = answer(AGENTS, "show", "desk", "--org", org, "--cursor", newest.stderr.split()[-1])
    assert [row["version"] for row in older] == [1]
    assert answer(AGENTS, "runs", "--org", org) == []
    assert answer(AGENTS, "turns", uuid4()) == []


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
    assert words in refusal(AGENTS, "add", name, "--org", org, "--profile", profile)
    assert answer(AGENTS, "list") == []


def test_a_mailbox_has_a_profile_of_its_own_by_id_or_address(store: Database) -> None:
    account = make_account(store)
    of = ("desk", "--org", account.org_id, "--account")
    made = [
        answer(AGENTS, "add", *of, here, "--profile", PROFILE) for here in (account.account_id, account.email.upper())
    ]
    assert [(one["account_id"], one["version"]) for one in made] == [(str(account.account_id), n) for n in (1, 2)]
    assert not answer(AGENTS, "disable", *of, account.email)["enabled"]
    assert answer(AGENTS, "enable", *of, account.email)["enabled"]


def test_a_mailbox_of_another_org_and_an_unknown_profile_are_refused(org: UUID, store: Database) -> None:
    account = make_account(store, org="another org")
    for here in (account.account_id, account.email, uuid4(), "nobody"):
        words = refusal(AGENTS, "add", "desk", "--org", org, "--account", here, "--profile", PROFILE)
        assert f"there is no account {here} in the org" in words
    assert "no profile desk" in refusal(AGENTS, "disable", "desk", "--org", org)
