"""A secret of an org is sealed, is its org's alone, and comes out of no other door (promises P6 and P9)."""

from uuid import UUID

import psycopg
import pytest
from psycopg import Connection, sql
from pydantic import SecretStr

from domain.jobs.failures import Forbidden, Gone, Invalid
from domain.jobs.job import SYSTEM_ORG, ActorType, Origin
from storage.orgs.secrets import org_secrets
from storage.orgs.secrets.sealing import SealBroken, SealedToken, Sealer, SecretPlace, UnknownSealKey
from storage.postgres.database import Database
from tests.doubles.factories import make_org

VALUE = SecretStr("blue-horse-battery-7719")
SEALER = Sealer(["the key"])
BY = Origin(ActorType.USER, "operator:ada")


@pytest.fixture
def place(org: UUID) -> SecretPlace:
    return SecretPlace(org, "crm.api_key")


def keep(store: Database, place: SecretPlace, value: SecretStr = VALUE, sealer: Sealer = SEALER) -> None:
    with store.ledger() as tx:
        org_secrets.keep(tx, sealer, place, value, by=BY)


def opened(store: Database, place: SecretPlace, *, org_id: UUID | None = None, sealer: Sealer = SEALER) -> str:
    with store.tenant(org_id or place.org_id) as tx:
        return org_secrets.opened(tx, sealer, place).get_secret_value()


def places_of(database: Connection, words: str) -> list[str]:
    """The tables of this database, of whatever schema, in which a text stands, as it is or as bytes."""
    tables = database.execute(
        "select schemaname, tablename from pg_tables where schemaname not in ('pg_catalog', 'information_schema')"
    ).fetchall()
    query = sql.SQL("select count(*) from {} as t where t::text like any (%s)")
    wanted = [f"%{words}%", f"%{words.encode().hex()}%"]
    found = []
    for schema, table in tables:
        row = database.execute(query.format(sql.Identifier(schema, table)), (wanted,)).fetchone()
        if row != (0,):
            found.append(table)
    return found


def test_a_handler_of_the_org_opens_its_secret_and_a_newer_one_replaces_it(store: Database, place: SecretPlace) -> None:
    keep(store, place)
    assert opened(store, place) == VALUE.get_secret_value()
    keep(store, place, SecretStr("another"))
    assert opened(store, place) == "another"
    with store.ledger() as tx:
        (known,) = org_secrets.listed(tx, org_id=place.org_id, limit=10)
    assert (known.name, known.key_id) == ("crm.api_key", SEALER.key_id.hex())
    assert known.updated_at > known.created_at


def test_no_table_holds_the_value(store: Database, database: Connection, place: SecretPlace) -> None:
    assert places_of(database, "postroom_tenant") == []
    assert places_of(database, place.org_id.hex[:8]) != []
    keep(store, place)
    opened(store, place)
    with store.ledger() as tx:
        org_secrets.remove(tx, place, by=BY)
    assert places_of(database, VALUE.get_secret_value()) == []
    told = database.execute(
        "select event, actor_id, data from audit_log where org_id = %s order by id", (place.org_id,)
    )
    assert told.fetchall() == [
        ("secret.set", "operator:ada", {"name": "crm.api_key"}),
        ("secret.removed", "operator:ada", {"name": "crm.api_key"}),
    ]


def test_another_org_finds_nothing(store: Database, database: Connection, place: SecretPlace) -> None:
    keep(store, place)
    other = make_org(database, "another org")
    with pytest.raises(Gone, match=r"crm\.api_key"):
        opened(store, place, org_id=other)


@pytest.mark.parametrize(
    "statement",
    [
        "select * from org_secrets",
        "insert into org_secrets (org_id, name, sealed, key_id) select postroom.current_org(), 'x', '1', '12345678'",
        "update org_secrets set name = 'x'",
        "delete from org_secrets",
    ],
)
def test_a_handler_reads_and_writes_by_no_other_way(store: Database, place: SecretPlace, statement: str) -> None:
    keep(store, place)
    with pytest.raises(Forbidden, match="permission denied"), store.tenant(place.org_id) as tx:
        tx.raw(statement)


def test_what_was_moved_or_changed_does_not_open_and_is_not_shown(
    store: Database, database: Connection, place: SecretPlace
) -> None:
    keep(store, place)
    database.execute("update org_secrets set name = 'moved'")
    with pytest.raises(SealBroken, match="moved") as caught:
        opened(store, SecretPlace(place.org_id, "moved"))
    assert VALUE.get_secret_value() not in str(caught.value)
    with pytest.raises(UnknownSealKey):
        opened(store, SecretPlace(place.org_id, "moved"), sealer=Sealer(["wrong"]))


@pytest.mark.parametrize(
    ("name", "value"), [("Upper", "x"), ("", "x"), ("a" * 64, "x"), ("fine", ""), ("fine", "y" * 16_385)]
)
def test_a_name_or_value_out_of_shape_is_refused_without_the_value(
    store: Database, org: UUID, name: str, value: str
) -> None:
    with pytest.raises(Invalid) as caught:
        keep(store, SecretPlace(org, name), SecretStr(value))
    assert not value or value * 2 not in caught.value.reason


def test_the_system_org_has_none(store: Database, database: Connection) -> None:
    with pytest.raises(Invalid, match="system org"):
        keep(store, SecretPlace(SYSTEM_ORG, "x"))
    with pytest.raises(psycopg.errors.CheckViolation):
        database.execute(
            "insert into org_secrets (org_id, name, sealed, key_id) values (%s, 'x', '1', '12345678')", (SYSTEM_ORG,)
        )


def test_a_new_key_seals_what_an_older_one_sealed(store: Database, place: SecretPlace) -> None:
    keep(store, place)
    both = Sealer(["new", "the key"])
    with store.ledger() as tx:
        assert [org_secrets.reseal_some(tx, both), org_secrets.reseal_some(tx, both)] == [1, 0]
    assert opened(store, place, sealer=Sealer(["new"])) == VALUE.get_secret_value()


def test_what_is_sealed_shows_nothing_of_itself(place: SecretPlace) -> None:
    sealed = SEALER.seal(VALUE, place)
    assert isinstance(sealed, SealedToken)
    assert VALUE.get_secret_value().encode() not in sealed.data
    assert VALUE.get_secret_value() not in repr(sealed)
