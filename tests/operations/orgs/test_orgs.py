"""Orgs without a mailbox: made, listed and set, by command and by HTTP."""

from uuid import UUID

import pytest
from psycopg import Connection

from commands.operations import AREAS
from domain.orgs.access.api_keys import Role
from storage.mail.accounts import accounts
from storage.postgres.database import Database
from tests.commands.calling import answer, call, refusal
from tests.gateway.api.conftest import Client, client_of


def audited(database: Connection) -> list[tuple[str, str, object]]:
    rows = database.execute("select event, actor_id, data from audit_entries where event like 'org.%' order by id")
    return rows.fetchall()


@pytest.mark.usefixtures("process")
def test_an_org_is_made_set_and_listed_by_command(store: Database, database: Connection) -> None:
    orgs = AREAS.orgs
    made = answer(orgs, "add", "Acme", "--weight", 3, "--settings", '{"plan": "a"}', "--as", "ada")
    assert (made["name"], made["weight"], made["settings"]) == ("Acme", 3, {"plan": "a"})
    assert "exists" in refusal(orgs, "add", "Acme")
    changed = answer(orgs, "set", "--org", "Acme", "--settings", '{"plan": null, "seats": 5}', "--as", "ada")
    assert (changed["settings"], changed["weight"]) == ({"seats": 5}, 3)
    assert answer(orgs, "set", "--org", made["org_id"], "--weight", 7)["weight"] == 7
    assert answer(orgs, "show", "--org", "Acme")["settings"] == {"seats": 5}
    assert [one["name"] for one in answer(orgs, "list")] == ["system", "Acme"]
    with store.ledger() as tx:
        assert accounts.ensure_org(tx, "Acme") == UUID(made["org_id"]), "a mailbox joins the org that is there"
    assert [(event, actor) for event, actor, _ in audited(database)][:2] == [
        ("org.added", "operator:ada"), ("org.changed", "operator:ada"),
    ]  # fmt: skip


@pytest.mark.usefixtures("process")
@pytest.mark.parametrize(
    ("told", "words"),
    [
        (["add", " "], "name"),
        (["add", "x" * 201], "name"),
        (["add", "a", "--weight", "0"], "weight"),
        (["add", "a", "--settings", "[]"], "settings"),
        (["add", "a", "--settings", '{"a": {"b": 1}}'], "settings.a"),
        (["add", "a", "--settings", '{"api_key": "abcdefgh12345678"}'], "settings"),
        (["set", "--org", "system", "--weight", "2"], "system org"),
        (["set", "--org", "system"], "settings"),
    ],
)
def test_what_is_no_org_is_refused(told: list[str], words: str) -> None:
    result = call(AREAS.orgs, *told)
    assert result.exit_code != 0
    assert words in result.output


def test_an_org_sees_and_sets_its_own_by_http(client: Client, stranger: Client, database: Connection) -> None:
    assert client.get("/v1/org").json["org_id"] == str(client.org_id)
    changed = client.change("/v1/org", {"settings": {"footer": "Acme"}})
    assert (changed.status, changed.json["settings"]) == (200, {"footer": "Acme"})
    assert stranger.get("/v1/org").json["settings"] == {}
    assert client.change("/v1/org", {"weight": 9}).status == 403
    assert client.change("/v1/org", {}).json["field"] == "settings"
    assert audited(database) == [
        ("org.changed", str(client.key_id), {"settings": ["footer"], "weight": None}),
    ]


def test_a_reader_sets_nothing(store: Database, door: str, org: UUID) -> None:
    reader = client_of(store, door, org, Role.READER)
    assert reader.get("/v1/org").status == 200
    assert reader.change("/v1/org", {"settings": {"a": "b"}}).status == 403
