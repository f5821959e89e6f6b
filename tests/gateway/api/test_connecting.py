"""A service asks for the link by which an owner connects a mailbox."""

from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

import pytest
from psycopg import Connection
from pydantic import SecretStr

from domain.orgs.access.api_keys import Role
from engine.runtime import Runtime
from settings import Settings
from storage.mail.accounts import consents
from storage.postgres.database import Database
from tests.gateway.api.conftest import Client, client_of
from tests.gateway.serving import serve

PATH = "/v1/accounts/connect"


@pytest.fixture
def door(settings: Settings, process: Runtime) -> Iterator[str]:
    """A gateway with a public address and an OAuth client."""
    assert process.database is not None
    client = {"google_client_id": "c", "google_client_secret": SecretStr("a secret")}
    with serve(settings.model_copy(update=client | {"public_url": "https://mail.example.org"})) as url:
        yield url


def test_a_link_is_bound_to_the_keys_org(client: Client, store: Database, database: Connection) -> None:
    made = client.post(PATH, {"email": "Anna@Example.com", "deletes": True})
    assert (made.status, made.json["email"]) == (201, "anna@example.com")
    address = urlsplit(made.json["link"])
    assert (address.netloc, address.path) == ("mail.example.org", "/oauth/google/start")
    with store.ledger() as tx:
        found = consents.by_link(tx, parse_qs(address.query)["link"][0])
    assert found is not None
    assert (found.org_id, found.owner, found.deletes) == (client.org_id, "anna@example.com", True)
    assert (found.asked_by.actor_type, found.asked_by.actor_id) == ("api_key", str(client.key_id))
    audited = database.execute(
        "select actor_id, org_id from audit_log where event = 'account.consent_asked'"
    ).fetchall()
    assert audited == [(str(client.key_id), client.org_id)]


def test_bad_wishes_are_refused_by_field(client: Client, database: Connection) -> None:
    for document, field in (
        (None, "email"),
        ({}, "email"),
        ({"email": "nobody"}, "email"),
        ({"email": "a\u0000@example.com"}, "email"),
        ({"email": "a@example.com", "owner": "x"}, "owner"),
        ({"email": "a@example.com", "deletes": "yes"}, "deletes"),
        ({"email": "a@example.com", "scopes": []}, "scopes"),
    ):
        refused = client.post(PATH, document)
        assert (refused.status, refused.json["field"]) == (422, field)
    assert database.execute("select count(*) from consent_requests").fetchone() == (0,)


def test_only_operators_may_ask(store: Database, door: str, org: UUID) -> None:
    assert client_of(store, door, org, Role.WRITER).post(PATH, {"email": "a@example.com"}).status == 403


def test_an_installation_without_a_public_address_says_so(
    settings: Settings, process: Runtime, store: Database, org: UUID
) -> None:
    assert process.database is not None
    with serve(settings) as url:
        refused = client_of(store, url, org, Role.OPERATOR).post(PATH, {"email": "a@example.com"})
    assert (refused.status, refused.json["code"]) == (409, "oauth.not_set_up")
    assert "POSTROOM_PUBLIC_URL" in refused.json["detail"]
