"""Promise P6: whatever SQL a handler runs, it can neither read nor write another org's rows; for every table."""

import re
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import Connection, sql
from pydantic import SecretStr
from sqlalchemy import make_url

from domain.jobs.failures import ClaimLost, Forbidden, Gone
from settings import Settings
from storage.mail.accounts import accounts
from storage.postgres import queries
from storage.postgres.database import Database, Transaction
from tests.doubles.mail_factories import make_account
from tests.storage.postgres.row_makers import CATALOGUE, FLEET, fill_every_table, tenant_tables

OTHERS = frozenset({*FLEET, *CATALOGUE})

VIEWS = {
    "audit_log": "the events of the audit log",
    "job_lines": "jobs as lists show them",
    "artifact_lines": "artifacts",
}
"""Views of tenants' tables, which show each tenant what the tables do."""


@pytest.fixture
def orgs(database: Connection) -> tuple[UUID, UUID]:
    mine, theirs = uuid4(), uuid4()
    fill_every_table(database, mine)
    fill_every_table(database, theirs)
    return mine, theirs


def org_column(table: str) -> str:
    return "id" if table == "orgs" else "org_id"


def test_every_view_is_in_a_short_list(database: Connection) -> None:
    rows = database.execute(
        "select relname from pg_class where relnamespace = 'public'::regnamespace and relkind in ('v', 'm', 'f')"
    )
    assert {str(row[0]) for row in rows} - OTHERS == set(VIEWS)


def test_ac_06_a_tenants_table_has_its_org_and_its_fence(database: Connection) -> None:
    """A table without an org is the fleet's, and is in a short list with its reason."""
    for table in tenant_tables(database):
        column = org_column(table)
        fenced = database.execute(
            "select c.relrowsecurity, a.attnotnull from pg_class c"
            " join pg_attribute a on a.attrelid = c.oid and a.attname = %s where c.oid = %s::regclass",
            (column, table),
        ).fetchone()
        assert fenced == (True, True), table
        policies = database.execute(
            "select coalesce(qual, with_check) from pg_policies"
            " where tablename = %s and 'postroom_tenant' = any (roles)",
            (table,),
        ).fetchall()
        assert policies, table
        assert all(f"{column} = ( SELECT postroom.current_org()" in row[0] for row in policies), table


def test_a_fleet_table_is_closed_to_tenants(database: Connection) -> None:
    for table in OTHERS:
        row = database.execute(
            "select array_agg(p) from unnest(array['select', 'insert', 'update', 'delete', 'truncate', 'references',"
            " 'trigger']) as p where has_table_privilege('postroom_tenant', %s, p)"
            " or (p in ('select', 'insert', 'update') and has_any_column_privilege('postroom_tenant', %s, p))",
            (table, table),
        ).fetchone()
        assert row is not None
        assert row[0] == (["select"] if table in CATALOGUE else None), table


def test_the_tenant_role_owns_nothing_and_can_become_nobody(database: Connection) -> None:
    row = database.execute(
        "select rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, rolreplication,"
        " exists (select from pg_auth_members where member = r.oid),"
        " exists (select from pg_class where relowner = r.oid)"
        " from pg_roles r where rolname = 'postroom_tenant'"
    ).fetchone()
    assert row == (False,) * 7


def test_what_a_tenant_may_insert_points_only_into_its_org(database: Connection) -> None:
    loose = database.execute(
        "select c.conrelid::regclass::text, c.conname from pg_constraint c"
        " where c.contype = 'f' and c.connamespace = 'public'::regnamespace and c.confrelid <> 'orgs'::regclass"
        " and has_table_privilege('postroom_tenant', c.conrelid, 'insert')"
        " and not exists (select from pg_attribute a where a.attrelid = c.conrelid and a.attname = 'org_id'"
        " and a.attnum = any (c.conkey))"
    ).fetchall()
    assert loose == [], "a foreign key without org_id lets a row of one org point at another's"


def test_a_tenant_sees_its_own_rows_and_no_others(
    database: Connection, store: Database, orgs: tuple[UUID, UUID]
) -> None:
    mine, theirs = orgs
    with store.tenant(mine) as tx:
        for table in tenant_tables(database):
            column = org_column(table)
            assert [row[0] for row in tx.raw(f"select distinct {column} from {table}")] == [mine], table
            assert tx.raw(f"select 1 from {table} where {column} = %(org)s", {"org": theirs}) == [], table


def test_a_view_shows_a_tenant_its_own_rows_and_takes_none(
    database: Connection, store: Database, orgs: tuple[UUID, UUID]
) -> None:
    mine, theirs = orgs
    entry = (
        "insert into audit_entries (event, org_id, actor_type, actor_id, request_id, correlation_id, job_id, began_at)"
        " values ('job.succeeded', %s, 'system', 'x', 'x', 'x', %s, now())"
    )
    for org in orgs:
        database.execute(entry, (org, uuid4()))
    with store.tenant(mine) as tx:
        for view in VIEWS:
            assert {row[0] for row in tx.raw(f"select org_id from {view}")} == {mine}, view
            assert tx.raw(f"select 1 from {view} where org_id = %(org)s", {"org": theirs}) == [], view
            assert (
                tx.raw(
                    "select p from unnest(array['insert', 'update', 'delete', 'truncate']) as p"
                    " where has_table_privilege(%(view)s, p)",
                    {"view": view},
                )
                == []
            ), view
    audited = database.execute("select event from audit_log where org_id = %s order by id", (mine,)).fetchall()
    assert audited == [("probe.done",), ("job.started",), ("job.succeeded",)]


def refused(tx: Transaction, statement: str, **values: object) -> bool:
    """True when the database refuses the statement for want of privilege; false when it found nothing to do."""
    tx.raw("savepoint attempt")
    try:
        rows = tx.raw(statement, values)
    except Forbidden:
        tx.raw("rollback to savepoint attempt")
        return True
    assert not rows, f"went through: {statement}"
    return False


def test_a_tenant_cannot_change_or_delete_anothers_rows(
    database: Connection, store: Database, orgs: tuple[UUID, UUID]
) -> None:
    mine, theirs = orgs
    before = {table: rows_of(database, table, theirs) for table in tenant_tables(database)}
    with store.tenant(mine) as tx:
        for table in tenant_tables(database):
            where = f"where {org_column(table)} = %(org)s returning 1"
            refused(tx, f"update {table} set {org_column(table)} = {org_column(table)} {where}", org=theirs)
            refused(tx, f"update {table} set {org_column(table)} = %(mine)s {where}", mine=mine, org=theirs)
            refused(tx, f"delete from {table} {where}", org=theirs)
            assert refused(tx, f"truncate {table} cascade"), table
    assert {table: rows_of(database, table, theirs) for table in tenant_tables(database)} == before
    assert all(before.values())


def test_a_tenant_cannot_insert_for_another_org(database: Connection, store: Database, orgs: tuple[UUID, UUID]) -> None:
    mine, theirs = orgs
    with store.tenant(mine) as tx:
        for table in tenant_tables(database):
            columns = writable_columns(database, table)
            source = f"jsonb_populate_record(null::{table}, %(row)s::jsonb)"
            row = rows_of(database, table, theirs)[0]
            assert refused(tx, f"insert into {table} ({columns}) select {columns} from {source}", row=row), table


def test_a_tenant_cannot_give_its_rows_to_another_org(
    database: Connection, store: Database, orgs: tuple[UUID, UUID]
) -> None:
    mine, theirs = orgs
    with store.tenant(mine) as tx:
        for table in tenant_tables(database):
            move = f"update {table} set {org_column(table)} = %(theirs)s where {org_column(table)} = %(mine)s"
            assert refused(tx, move, mine=mine, theirs=theirs), table


@pytest.mark.parametrize("local", ["true", "false"])
def test_a_tenant_cannot_put_on_another_org(
    database: Connection, store: Database, orgs: tuple[UUID, UUID], local: str
) -> None:
    mine, theirs = orgs
    for table in tenant_tables(database):
        with store.tenant(mine) as tx:
            tx.raw(f"select set_config('postroom.org', %(org)s, {local})", {"org": str(theirs)})
            assert refused(tx, f"select 1 from {table}"), table
            tx.raw("select set_config('postroom.org', '', true)")
            assert not refused(tx, f"select 1 from {table}"), table


COUPS = (
    "set role postroom_ledger",
    "set role postgres",
    "set session authorization postroom_ledger",
    "set session authorization postgres",
    "set local row_security = off; select 1 from accounts",
    "alter table accounts disable row level security",
    "drop policy tenant_own on accounts",
    "create policy all_of_it on accounts using (true)",
    "alter role postroom_tenant bypassrls",
    "create or replace function postroom.current_org() returns uuid language sql as 'select null::uuid'",
    "create table public.copies (id int)",
    "select secret from tenant_seal",
    "copy accounts to program 'cat'",
)


def test_a_tenant_cannot_become_somebody_else(store: Database, orgs: tuple[UUID, UUID]) -> None:
    for statement in COUPS:
        with pytest.raises(Forbidden) as caught, store.tenant(orgs[0]) as tx:
            tx.raw(statement)
        assert getattr(caught.value.__cause__, "sqlstate", "") == "42501", statement


@pytest.mark.parametrize("statement", ["reset role", "reset session authorization", "reset all"])
def test_a_reset_leaves_a_tenant_where_it_is_or_without_an_org(
    store: Database, orgs: tuple[UUID, UUID], statement: str
) -> None:
    with store.tenant(orgs[0]) as tx:
        tx.raw(statement)
        assert tx.raw("select current_user, session_user")[0]._asdict() == {
            "current_user": "postroom_tenant",
            "session_user": "postroom_tenant",
        }
        assert {row.org_id for row in tx.raw("select org_id from accounts")} <= {orgs[0]}


def test_a_swallowed_error_is_not_taken_for_a_commit(store: Database, orgs: tuple[UUID, UUID]) -> None:
    with (
        pytest.raises(Forbidden, match="a statement failed"),
        store.tenant(orgs[0]) as tx,
        pytest.raises(psycopg.Error, match="cannot run inside a transaction block"),
    ):
        tx.raw("discard all")


LEAVES = re.compile(
    r"(?:\A|;)\s*(set|reset|prepare|execute|deallocate|listen|discard|begin|commit|create)\b"
    r"|\bwith hold\b|set_config\([^()]*\bfalse\b|pg_(try_)?advisory_lock",
    re.IGNORECASE,
)
"""What leaves something in a session, or ends a transaction."""


def test_no_statement_of_the_storage_leaves_anything_in_a_session() -> None:
    for name, text in queries.statements().items():
        assert not LEAVES.search(re.sub("--.*", "", text)), name
    assert LEAVES.search("select set_config('a', 'b', false)")


def test_a_refusal_tells_nothing_about_anothers_rows(store: Database, database: Connection) -> None:
    mine, theirs = fill_every_table(database, uuid4()), fill_every_table(database, uuid4())
    statement = (
        "insert into threads (org_id, account_id, gmail_thread_id, first_message_at, last_message_at)"
        " values (%(org)s, %(account)s, %(thread)s, now(), now())"
    )
    messages = set()
    for thread in ("t1", "no such thread"):
        with pytest.raises(psycopg.Error) as caught, store.tenant(mine["org"]) as tx:
            tx.raw(statement, {"org": mine["org"], "account": theirs["account"], "thread": thread})
        messages.add(str(caught.value.diag.message_primary))
    assert messages == {
        'insert or update on table "threads" violates foreign key constraint "threads_org_id_account_id_fkey"'
    }


def rows_of(database: Connection, table: str, org_id: UUID) -> list[str]:
    query = sql.SQL("select to_jsonb(t)::text from {} t where {} = %s order by 1").format(
        sql.Identifier(table), sql.Identifier(org_column(table))
    )
    return [str(row[0]) for row in database.execute(query, (org_id,))]


def writable_columns(database: Connection, table: str) -> str:
    given = "attnum > 0 and not attisdropped and attidentity = '' and attgenerated = ''"
    rows = database.execute(f"select attname from pg_attribute where attrelid = %s::regclass and {given}", (table,))
    return ", ".join(str(row[0]) for row in rows)


FOR_TENANTS = {
    "begins_secret",  # pure
    "advance_runs",
    "announce_call",
    "append_event",
    "are_few_unfinished",  # tells whether, of all orgs
    "begin_effect",
    "cancel_node_jobs",
    "cancel_wake",
    "carries_secret",  # pure
    "claim_children",
    "commitments_of",
    "conclude_doubt",
    "current_org",
    "current_project",
    "enqueue",
    "enqueue_job",
    "enqueue_jobs",
    "notify",
    "finish_effect",
    "forget_nodes",
    "hold_claim",
    "job_zones",  # tells times, of the caller's org
    "keep_email_order",  # with the caller's own rights
    "is_channel_of_another",
    "is_of_earlier_connection",
    "look_at_claim",
    "look_back_at_jobs",  # tells a time, of all orgs
    "looks_secret",  # pure
    "mentions_secret",  # pure
    "named_labels",  # pure
    "parked_for_money",  # tells a time, of the caller's org
    "names_secret",  # pure
    "org_secret",
    "read_doubt",
    "read_doubt_request",
    "refuse_secret_in",  # pure
    "repeat_end_hook",
    "settle_held",
    "why_of_job",
}
"""What a handler's role may call: pure functions, those that look at the caller's org, and what lists ask."""


def test_a_tenant_may_call_only_what_looks_at_its_org(database: Connection) -> None:
    rows = database.execute(
        "select p.proname from pg_proc p join pg_namespace n on n.oid = p.pronamespace"
        " where n.nspname = 'postroom' and has_function_privilege('postroom_tenant', p.oid, 'execute')"
    ).fetchall()
    assert {str(row[0]) for row in rows} == FOR_TENANTS


def test_a_tenant_cannot_free_anothers_slot(store: Database, orgs: tuple[UUID, UUID]) -> None:
    with pytest.raises(Forbidden), store.tenant(orgs[0]) as tx:
        tx.raw("select * from postroom.free_slots(array[gen_random_uuid()])")


def test_a_tenant_cannot_lock_anothers_mailbox(store: Database, orgs: tuple[UUID, UUID]) -> None:
    account_id = make_account(store, org="another's org").account_id
    with pytest.raises(Gone), store.tenant(orgs[0]) as tx:
        accounts.lock(tx, account_id)


def test_a_tenant_under_another_login_is_a_tenant_still(
    database: Connection, database_url: str, orgs: tuple[UUID, UUID]
) -> None:
    login = f"handler_{uuid4().hex[:8]}"
    database.execute(f"create role {login} login in role postroom_tenant")
    try:
        url = make_url(database_url).set(username=login).render_as_string(hide_password=False)
        other = Database(Settings(database_url=SecretStr(database_url), tenant_database_url=SecretStr(url)))
        try:
            with pytest.raises(Forbidden, match="its own org"), other.tenant(orgs[0]) as tx:
                tx.raw("select postroom.enqueue('probe.run', %(org)s)", {"org": orgs[1]})
        finally:
            other.dispose()
    finally:
        database.execute(f"drop role {login}")


def test_a_function_with_the_owners_rights_looks_for_temporary_tables_last(database: Connection) -> None:
    rows = database.execute(
        "select p.proname, p.proconfig from pg_proc p where p.pronamespace = 'postroom'::regnamespace and p.prosecdef"
    ).fetchall()
    assert rows
    safe = "search_path=pg_catalog, public, pg_temp"
    assert {name for name, settings in rows if safe not in (settings or [])} == set()


def test_a_tenants_temporary_table_does_not_hide_the_ledgers(
    database: Connection, store: Database, orgs: tuple[UUID, UUID]
) -> None:
    """Should an administrator grant what `postroom.secure` revokes."""
    grant = sql.SQL("grant temporary on database {} to postroom_tenant")
    database.execute(grant.format(sql.Identifier(database.info.dbname)))
    job_id, token = uuid4(), uuid4()
    with pytest.raises(ClaimLost), store.tenant(orgs[0]) as tx:
        tx.raw("create temp table jobs (id uuid, claim_token uuid, org_id uuid)")
        values = {"job": job_id, "token": token, "org": orgs[0]}
        tx.raw("insert into pg_temp.jobs values (%(job)s, %(token)s, %(org)s)", values)
        tx.raw("select postroom.hold_claim(%(job)s, %(token)s)", values)
