"""Operators make, list and revoke API keys; a key is shown once."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from commands.operations import AREAS
from domain.orgs.access.api_keys import Role
from engine.runtime import Runtime
from storage.orgs.access import api_keys
from tests.commands.calling import answer, call, refusal

keys = AREAS.keys
pytestmark = pytest.mark.usefixtures("process")
MADE = ("create", "--org", "an org", "--role", "writer", "--name", "importer", "--as", "ada")


def test_a_key_is_shown_once_and_lets_its_holder_in(process: Runtime, org: UUID) -> None:
    made = answer(keys, *MADE)
    with process.database.statements() as tx:
        caller = api_keys.find(tx, made["key"])
    assert caller is not None
    assert (str(caller.key_id), caller.org_id, caller.role) == (made["key_id"], org, Role.WRITER)
    (line,) = answer(keys, "list", "--org", "an org")
    assert (line["name"], line["role"], line["created_by"]) == ("importer", "writer", "operator:ada")
    assert made["key"] not in call(keys, "list", "--json").output
    assert made["key"] not in call(keys, "list").output


def test_a_person_reads_the_key_in_full(org: UUID) -> None:
    text = call(keys, *MADE, "--expires-at", (datetime.now(UTC) + timedelta(days=1)).isoformat()).output
    assert "sk-postroom-" in text
    assert "not shown again" in text
    assert str(org) in text


def test_a_revoked_key_is_listed_as_such(org: UUID) -> None:
    made = answer(keys, *MADE)
    assert answer(keys, "revoke", made["key_id"])["revoked_at"]
    (line,) = answer(keys, "list", "--org", org)
    assert line["revoked_at"]
    assert "revoked already" in refusal(keys, "revoke", made["key_id"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--org", "00000000-0000-7000-8000-000000000000"), "the system org has no API keys"),
        (("--org", "nobody"), "no org nobody"),
        (("--org", "an org", "--expires-at", "tomorrow"), "expires_at: is no RFC 3339 time"),
        (("--org", "an org", "--expires-at", "2020-01-01T00:00:00Z"), "expires_at: is past"),
    ],
)
def test_a_key_that_cannot_be_is_refused(org: UUID, options: tuple[str, ...], words: str) -> None:
    assert words in refusal(keys, "create", "--role", "reader", "--name", "x", *options)
    assert answer(keys, "list", "--org", org) == []
