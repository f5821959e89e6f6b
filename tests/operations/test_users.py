"""Operators say who belongs to an org, who may approve, and who they are on Discord."""

import pytest
from psycopg import Connection

from commands.operations import AREAS
from tests.commands.calling import answer, call, refusal
from tests.doubles.mail_environment import OWNER

USERS = AREAS.users
ORG = "The Example Org"


@pytest.mark.usefixtures("env")
def test_people_are_added_listed_changed_and_removed(database: Connection) -> None:
    added = answer(USERS, "add", "Bob@Example.org", "--org", ORG, "--role", "approver", "--discord", "42")
    assert (added["email"], added["role"], added["discord_user_id"]) == ("bob@example.org", "approver", "42")
    changed = answer(USERS, "set", "bob@example.org", "--org", ORG, "--zone", "Europe/Berlin", "--discord", "")
    assert (changed["zone"], changed["discord_user_id"], changed["role"]) == ("Europe/Berlin", None, "approver")
    assert [one["email"] for one in answer(USERS, "list", "--org", ORG)] == ["bob@example.org", OWNER]
    shown = call(USERS, "list", "--org", ORG, "--limit", 1)
    rest = answer(USERS, "list", "--org", ORG, "--cursor", shown.stderr.split()[-1])
    assert [one["email"] for one in rest] == [OWNER]
    assert "zone: " in refusal(USERS, "set", OWNER, "--org", ORG, "--zone", "Mars")
    assert "address" in refusal(USERS, "add", "bob@example.org", "--org", ORG)
    answer(USERS, "remove", "bob@example.org", "--org", ORG)
    assert "nobody of the address" in refusal(USERS, "remove", "bob@example.org", "--org", ORG)
    assert "owns a mailbox" in refusal(USERS, "remove", OWNER, "--org", ORG)
    rows = database.execute("select event, data from audit_entries where event like 'user.%' order by id").fetchall()
    named = {"user_id": added["user_id"]}
    changes = named | {"zone": "Europe/Berlin"}
    assert rows == [("user.added", named), ("user.changed", changes), ("user.removed", named)]
