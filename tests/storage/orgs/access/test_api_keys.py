"""Keys are kept as digests, let in while they are good, and their use is noted sparingly."""

import os
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest
from psycopg import Connection

from domain.jobs.failures import Conflict, Forbidden, Gone, Invalid
from domain.jobs.job import SYSTEM_ORG, Origin
from domain.orgs.access.api_keys import NOISE, NewKey, Role, make_key
from storage.orgs.access import api_keys
from storage.orgs.access.api_keys import ApiKey, Caller, KeyOptions
from storage.postgres.database import Database

BY = Origin(actor_id="operator:ada")


def create(store: Database, org: UUID, *, expires_at: datetime | None = None) -> tuple[NewKey, ApiKey]:
    key = make_key(os.urandom(NOISE))
    with store.ledger() as tx:
        return key, api_keys.create(tx, org, key, KeyOptions("importer", Role.WRITER, expires_at), by=BY)


def find(store: Database, text: str) -> Caller | None:
    with store.statements() as tx:
        return api_keys.find(tx, text)


def test_a_key_is_found_and_stands_nowhere_in_the_database(store: Database, org: UUID, database: Connection) -> None:
    key, made = create(store, org)
    assert find(store, key.text) == Caller(made.key_id, org, Role.WRITER, note=True)
    (row,) = database.execute("select to_jsonb(k)::text || digest::text from api_keys k").fetchall()
    assert key.text not in row[0]
    assert key.text.encode().hex() not in row[0]
    assert key.prefix in row[0]


def test_another_secret_behind_the_same_prefix_is_nobodys(store: Database, org: UUID) -> None:
    key, _ = create(store, org)
    assert find(store, key.text[:-1] + ("0" if key.text[-1] != "0" else "1")) is None
    assert find(store, "sk-postroom-nonsense") is None
    assert find(store, make_key(os.urandom(NOISE)).text) is None


def test_a_key_ends_by_the_databases_clock(store: Database, org: UUID, database: Connection) -> None:
    key, _ = create(store, org, expires_at=datetime.now(UTC) + timedelta(hours=1))
    assert find(store, key.text) is not None
    database.execute("update api_keys set created_at = now() - interval '2 hours', expires_at = now()")
    assert find(store, key.text) is None


def test_a_revoked_key_lets_nobody_in(store: Database, org: UUID, database: Connection) -> None:
    key, made = create(store, org)
    with store.ledger() as tx:
        revoked = api_keys.revoke(tx, made.key_id, by=BY)
    assert (revoked.revoked_by, find(store, key.text)) == ("operator:ada", None)
    with store.ledger() as tx, pytest.raises(Conflict, match="revoked already"):
        api_keys.revoke(tx, made.key_id, by=BY)
    with store.ledger() as tx, pytest.raises(Gone, match="no key"):
        api_keys.revoke(tx, uuid4(), by=BY)
    events = database.execute("select event, org_id, actor_id, data ->> 'prefix' from audit_log order by id").fetchall()
    assert events == [(event, org, "operator:ada", key.prefix) for event in ("key.created", "key.revoked")]


def test_the_use_of_a_key_is_noted_every_few_minutes(store: Database, org: UUID, database: Connection) -> None:
    key, made = create(store, org)
    with store.statements() as tx:
        api_keys.note_use(tx, made.key_id)
    found = find(store, key.text)
    assert found is not None
    assert not found.note
    first = database.execute("select last_used_at from api_keys").fetchone()
    with store.statements() as tx:
        api_keys.note_use(tx, made.key_id)
    assert database.execute("select last_used_at from api_keys").fetchone() == first
    database.execute("update api_keys set last_used_at = now() - interval '6 minutes'")
    found = find(store, key.text)
    assert found is not None
    assert found.note


def test_no_key_for_the_system_org_nor_for_none(store: Database) -> None:
    with pytest.raises(Forbidden, match="system org"):
        create(store, SYSTEM_ORG)
    with pytest.raises(Invalid, match="org_id: "):
        create(store, uuid4())


def test_the_table_refuses_the_system_org_too(database: Connection) -> None:
    with pytest.raises(Exception, match="api_keys_org_id_check"):
        database.execute(
            "insert into api_keys (org_id, name, role, prefix, digest, created_by)"
            " values (%s, 'x', 'reader', '000000000000', sha256('x'), 'x')",
            (SYSTEM_ORG,),
        )
