"""Operators say who belongs to an org, who may approve, and who they are on Discord."""

from typing import Any

import pytest
from psycopg import Connection

from commands.operations import AREAS
from tests.commands.calling import answer, call, refusal
from tests.doubles.mail_environment import OWNER

USERS = AREAS.users
ORG = "The Example Org"


def audited(database: Connection) -> list[tuple[str, dict[str, Any]]]:
    return database.execute("select event, data from audit_entries where event like 'user.%' order by id").fetchall()


@pytest.mark.usefixtures("env")
def test_people_are_added_listed_changed_and_removed(database: Connection) -> None:
    added = answer(USERS, "add", "Bob@Example.org", "--org", ORG, "--role", "approver", "--discord-user-id", "42")
    assert (added["email"], added["role"], added["discord_user_id"]) == ("bob@example.org", "approver", "42")
    changed = answer(USERS, "set", "bob@example.org", "--org", ORG, "--zone", "Europe/Berlin", "--discord-user-id", "")
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
    named = {"user_id": added["user_id"]}
    assert audited(database) == [
        ("user.added", named | {"role": "approver", "discord_user_id": "42"}),
        ("user.changed", named | {"zone": "Europe/Berlin", "discord_user_id": None}),
        ("user.removed", named),
    ]


@pytest.mark.usefixtures("env")
def test_a_change_that_changes_nothing_is_refused_and_not_audited(database: Connection) -> None:
    assert "role: nothing to change is given" in refusal(USERS, "set", OWNER, "--org", ORG)
    assert audited(database) == []


@pytest.mark.usefixtures("env")
@pytest.mark.parametrize(
    ("option", "value", "kept"),
    [
        ("--role", "admin", {"role": "admin"}),
        ("--zone", "Europe/Berlin", {"zone": "Europe/Berlin"}),
        ("--discord-user-id", "42", {"discord_user_id": "42"}),
        ("--discord-user-id", "", {"discord_user_id": None}),
    ],
)
def test_a_change_s_event_says_what_was_set(database: Connection, option: str, value: str, kept: object) -> None:
    changed = answer(USERS, "set", OWNER, "--org", ORG, option, value)
    ((event, data),) = audited(database)
    assert (event, data.pop("user_id"), data) == ("user.changed", changed["user_id"], kept)
