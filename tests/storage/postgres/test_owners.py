"""An owner that is no superuser migrates; what only a superuser can give is asked for by name."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from psycopg import Connection, connect, sql
from pydantic import SecretStr

from domain.jobs.failures import Forbidden, Transient
from sandbox.servers.postgres_server import PostgresServer
from settings import Settings
from storage.postgres.database import Database
from storage.postgres.functions import FUNCTIONS
from storage.postgres.migrate import upgrade
from tests.doubles.factories import make_org
from tests.storage.postgres.migrations.later_release import later_release
from tests.waiting import eventually

OWNER = "the owner"
"""A name that must be quoted."""


@pytest.fixture
def superuser(own_postgres: PostgresServer) -> Iterator[Connection]:
    """A superuser's session in the database of an owner that is none."""
    with connect(own_postgres.url(), autocommit=True) as administrator:
        administrator.execute(sql.SQL("create role {} login createrole").format(sql.Identifier(OWNER)))
        administrator.execute(sql.SQL("create database mail owner {}").format(sql.Identifier(OWNER)))
    with connect(own_postgres.url("mail"), autocommit=True) as session:
        yield session


@pytest.fixture
def owned(own_postgres: PostgresServer, superuser: Connection) -> Settings:
    url = own_postgres.url(superuser.info.dbname).replace("postgres@", "the%20owner@")
    return Settings(database_url=SecretStr(url))


def grants_asked_for(settings: Settings) -> list[str]:
    """The statements that the refusal names."""
    with pytest.raises(Forbidden) as caught:
        upgrade(settings)
    assert "a superuser" in caught.value.reason
    return caught.value.reason.partition(": ")[2].rpartition(";")[0].split("; ")


def test_an_owner_is_told_what_a_superuser_must_grant_and_migrates_then(owned: Settings, superuser: Connection) -> None:
    (grant,) = grants_asked_for(owned)
    assert grant == f'grant set on parameter postroom.deletes_audit to "{OWNER}"'
    assert superuser.execute("select to_regnamespace('postroom'), to_regclass('alembic_version')").fetchone() == (
        None,
        None,
    )
    superuser.execute(grant.encode())
    upgrade(owned)
    assert_whole(owned, superuser)


def test_an_owner_named_like_our_schema_migrates(own_postgres: PostgresServer) -> None:
    """As docker-compose.yml names it: PostgreSQL would put tables without a schema into the one of the owner's name."""
    with connect(own_postgres.url(), autocommit=True) as administrator:
        administrator.execute("create role postroom superuser login")
        administrator.execute("create database mail owner postroom")
    url = own_postgres.url("mail").replace("postgres@", "postroom@")
    upgrade(Settings(database_url=SecretStr(url)))
    with connect(url, autocommit=True) as owner:
        assert_whole(Settings(database_url=SecretStr(url)), owner, owned_by="postroom")


def test_an_owner_creates_functions_anew(owned: Settings, superuser: Connection, tmp_path: Path) -> None:
    """Also the end-of-job hooks, which belong to another role."""
    superuser.execute(grants_asked_for(owned)[0].encode())
    upgrade(owned)
    owners = "select distinct proowner::regrole::text from pg_proc where pronamespace = 'postroom'::regnamespace"
    before = set(superuser.execute(owners).fetchall())
    areas = ", ".join(f'"{path.stem}"' for path in FUNCTIONS.glob("*.sql"))
    upgrade(owned, migrations=later_release(tmp_path, f"create_functions({areas})"))
    assert set(superuser.execute(owners).fetchall()) == before == {("postroom_hooks",), (f'"{OWNER}"',)}


def test_who_has_migrated_once_needs_the_right_no_more(owned: Settings, superuser: Connection) -> None:
    superuser.execute(grants_asked_for(owned)[0].encode())
    upgrade(owned)
    superuser.execute(f'revoke set on parameter postroom.deletes_audit from "{OWNER}"')
    upgrade(owned)


def test_what_a_superuser_has_closed_to_everybody_is_asked_for_again(owned: Settings, superuser: Connection) -> None:
    """As the guide says: a superuser runs `postroom.secure()` once, which an owner cannot."""
    superuser.execute(grants_asked_for(owned)[0].encode())
    upgrade(owned)
    superuser.execute("call postroom.secure()")
    wanted = grants_asked_for(owned)
    assert wanted == [
        f'grant execute on function pg_catalog.pg_advisory_lock(bigint) to "{OWNER}"',
        f'grant execute on function pg_catalog.pg_stat_get_activity(integer) to "{OWNER}"',
    ]
    for grant in wanted:
        superuser.execute(grant.encode())
    upgrade(owned)
    superuser.execute("call postroom.secure()")
    upgrade(owned)
    assert superuser.execute("select * from postroom.wrong_rights()").fetchall() == []
    assert_whole(owned, superuser)


def test_an_administrator_may_make_the_roles(owned: Settings, superuser: Connection) -> None:
    """The statements of docs/howto/run-in-production.md."""
    for statement in (
        "create role postroom_ledger login",
        "create role postroom_tenant login",
        "create role postroom_auditor login",
        "create role postroom_watch login",
        "create role postroom_hooks nologin",
        *(
            f'grant {role} to "{OWNER}" with admin true, inherit false, set false'
            for role in ("postroom_ledger", "postroom_tenant", "postroom_auditor", "postroom_watch")
        ),
        "grant postroom_tenant, postroom_auditor to postroom_hooks",
        f'grant postroom_hooks to "{OWNER}" with inherit false, set true',
        f'grant set on parameter postroom.deletes_audit to "{OWNER}"',
    ):
        superuser.execute(statement.encode())
    upgrade(owned)
    assert_whole(owned, superuser)


@pytest.mark.parametrize(("connections", "holder"), [(1, "what another session has"), (2, "session {} of postgres")])
def test_an_owner_of_few_connections_migrates(
    owned: Settings, superuser: Connection, connections: int, holder: str
) -> None:
    """By one; the second, if it may have one, sees whom the first waits for."""
    superuser.execute(f'grant set on parameter postroom.deletes_audit to "{OWNER}"')
    superuser.execute(f'alter role "{OWNER}" connection limit {connections}')
    upgrade(owned)
    # PostgreSQL counts a session that was closed until its process has ended.
    left = "select from pg_stat_activity where usename = %s"
    eventually(lambda: not superuser.execute(left, (OWNER,)).fetchall(), describe="the first migration's session ended")
    with superuser.transaction():
        superuser.execute("lock table alembic_version in access exclusive mode")
        with pytest.raises(Transient) as caught:
            upgrade(owned, wait_s=0)
    assert holder.format(superuser.info.backend_pid) in caught.value.reason


def assert_whole(settings: Settings, superuser: Connection, owned_by: str = OWNER) -> None:
    """Whether every process of a fleet finds its door open: the engine's, and that of an org's handlers."""
    org = make_org(superuser)
    database = Database(settings)
    try:
        with database.ledger() as tx:
            assert tx.raw("select count(*) as n from jobs")[0].n == 0
        with database.tenant(org) as tx:
            assert [row.id for row in tx.raw("select id from orgs")] == [org]
    finally:
        database.dispose()
    owners = "select distinct tableowner from pg_tables where schemaname = 'public'"
    assert superuser.execute(owners).fetchall() == [(owned_by,)]
