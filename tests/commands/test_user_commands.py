"""Operators say who belongs to an org, who may approve, and who they are on Discord."""

import pytest

from commands import users
from tests.commands.calling import answer, refusal
from tests.doubles.mail_environment import OWNER

ORG = "The Example Org"


@pytest.mark.usefixtures("env")
def test_people_are_added_listed_changed_and_removed() -> None:
    added = answer(users, "add", "Bob@Example.org", "--org", ORG, "--role", "approver", "--discord", "42")
    assert (added["email"], added["role"], added["discord_user_id"]) == ("bob@example.org", "approver", "42")
    changed = answer(users, "set", "bob@example.org", "--org", ORG, "--zone", "Europe/Berlin", "--discord", "")
    assert (changed["zone"], changed["discord_user_id"], changed["role"]) == ("Europe/Berlin", None, "approver")
    assert [one["email"] for one in answer(users, "list", "--org", ORG)] == ["bob@example.org", OWNER]
    assert "zone: " in refusal(users, "set", OWNER, "--org", ORG, "--zone", "Mars")
    assert "address" in refusal(users, "add", "bob@example.org", "--org", ORG)
    answer(users, "remove", "bob@example.org", "--org", ORG)
    assert "nobody of the address" in refusal(users, "remove", "bob@example.org", "--org", ORG)
    assert "owns a mailbox" in refusal(users, "remove", OWNER, "--org", ORG)
