"""A serving gateway, two orgs with keys of every role, and what a client says to it."""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from uuid import UUID

import pytest
from psycopg import Connection

from domain.jobs.job import Origin
from domain.orgs.access.api_keys import NOISE, NewKey, Role, make_key
from engine.runtime import Runtime
from settings import Settings
from storage.orgs.access import api_keys
from storage.orgs.access.api_keys import KeyOptions
from storage.postgres.database import Database
from tests.doubles.factories import make_org
from tests.gateway.serving import HttpAnswer, ask, serve


def give_key(store: Database, org_id: UUID, role: Role) -> tuple[NewKey, UUID]:
    """A new key of an org, and its id."""
    key = make_key(os.urandom(NOISE))
    with store.ledger() as tx:
        made = api_keys.create(tx, org_id, key, KeyOptions(f"a {role.value}", role), by=Origin())
    return key, made.key_id


@dataclass(frozen=True)
class Client:
    """A service with a key."""

    url: str
    org_id: UUID
    key: str
    key_id: UUID

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> HttpAnswer:
        return ask(f"{self.url}{path}", headers=self._headers(headers))

    def post(self, path: str, document: object = None, headers: Mapping[str, str] | None = None) -> HttpAnswer:
        return self._send("POST", path, document, headers)

    def put(self, path: str, document: object = None) -> HttpAnswer:
        return self._send("PUT", path, document)

    def change(self, path: str, document: object = None) -> HttpAnswer:
        return self._send("PATCH", path, document)

    def delete(self, path: str) -> HttpAnswer:
        return self._send("DELETE", path, None)

    def _send(self, verb: str, path: str, document: object, headers: Mapping[str, str] | None = None) -> HttpAnswer:
        body = b"" if document is None else json.dumps(document).encode()
        typed = {"Content-Type": "application/json"} | self._headers(headers)
        return ask(f"{self.url}{path}", body, typed, verb)

    def _headers(self, more: Mapping[str, str] | None) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}", **(more or {})}


@pytest.fixture
def door(settings: Settings, process: Runtime) -> Iterator[str]:
    """The URL of a gateway whose fleet has published its catalogue."""
    assert process.database is not None
    with serve(settings) as url:
        yield url


def client_of(store: Database, door: str, org_id: UUID, role: Role) -> Client:
    key, key_id = give_key(store, org_id, role)
    return Client(door, org_id, key.text, key_id)


@pytest.fixture
def client(store: Database, door: str, org: UUID) -> Client:
    """An operator's key of the org."""
    return client_of(store, door, org, Role.OPERATOR)


@pytest.fixture
def stranger(store: Database, door: str, database: Connection) -> Client:
    """An operator's key of another org."""
    return client_of(store, door, make_org(database, "another"), Role.OPERATOR)
