"""Of the tables of projects, a transaction of one project sees and touches that project's rows alone."""

from typing import Any
from uuid import UUID, uuid4

import pytest
from psycopg import Connection

from domain.jobs.failures import Forbidden, Invalid
from storage.postgres.database import Database, Transaction
from tests.doubles.factories import claim_one, enqueue_one, make_job_type
from tests.storage.postgres.row_makers import PROJECT_TABLES, fill_every_table, fill_project
from tests.storage.postgres.test_tenancy import refused, writable_columns


@pytest.fixture
def projects(database: Connection) -> tuple[UUID, UUID, UUID]:
    """An org, and two projects of it; another org has a project, too."""
    fill_every_table(database, uuid4())
    org = uuid4()
    return org, fill_every_table(database, org)["project"], fill_project(database, org)["project"]


def project_column(table: str) -> str:
    return "id" if table == "projects" else "project_id"


def rows_of(database: Connection, table: str, project: UUID) -> list[tuple[Any, ...]]:
    query = f"select to_jsonb(t)::text from {table} t where {project_column(table)} = %s"  # own names
    return database.execute(query.encode(), (project,)).fetchall()


def test_each_table_with_a_project_is_fenced_by_it(database: Connection) -> None:
    """Jobs and the audit log have a test of their own: the engine alone writes them."""
    named = database.execute(
        "select c.relname from pg_attribute a join pg_class c on c.oid = a.attrelid"
        " where a.attname = 'project_id' and c.relkind in ('r', 'p') and c.relnamespace = 'public'::regnamespace"
    ).fetchall()
    of_engine = {"jobs", "audit_entries"}
    assert {row[0] for row in named} - of_engine | {"projects"} == set(PROJECT_TABLES)
    for table in {*PROJECT_TABLES, *of_engine}:
        ((policy,),) = database.execute(
            "select qual from pg_policies where tablename = %s and policyname = 'tenant_own'", (table,)
        ).fetchall()
        assert "current_org()" in policy
        assert f"current_project() AS current_project) <> {project_column(table)}) IS NOT TRUE" in policy


def test_a_project_sees_its_own_rows_and_no_others(store: Database, projects: tuple[UUID, UUID, UUID]) -> None:
    org, mine, theirs = projects
    with store.tenant(org, mine) as tx:
        for table in PROJECT_TABLES:
            column = project_column(table)
            assert [row[0] for row in tx.raw(f"select distinct {column} from {table}")] == [mine], table
            assert tx.raw(f"select 1 from {table} where {column} = %(theirs)s", {"theirs": theirs}) == [], table
    with store.tenant(org) as tx:
        for table in PROJECT_TABLES:
            column = project_column(table)
            assert {row[0] for row in tx.raw(f"select {column} from {table}")} == {mine, theirs}, table


WORDS = (
    "notifications",
    "digests",
    "digest_items",
    "deliveries",
    "inboxes",
    "inbox_items",
    "email_orders",
    "audit_details",
)
"""Words to people and about what they did, which may be of any project."""
OF_JOBS = ("jobs", "job_steps", "dead_letters")
OWN_ENTRY = (
    "insert into audit_entries (event, org_id, project_id, actor_type, actor_id, request_id, correlation_id)"
    " values ('probe.done', %(org)s, %(project)s, 'system', 'x', 'x', 'x')"
)


@pytest.mark.parametrize("of", ["theirs", "mine", "none"])
def test_a_project_sees_its_own_jobs_and_those_of_no_project(
    database: Connection, store: Database, projects: tuple[UUID, UUID, UUID], of: str
) -> None:
    """And what stands about them: their steps, their dead letters, the audit log."""
    org, mine, theirs = projects
    project = {"theirs": theirs, "mine": mine, "none": None}[of]
    database.execute("update jobs set project_id = %s where org_id = %s", (project, org))
    database.execute(OWN_ENTRY, {"org": org, "project": project})
    with store.tenant(org) as tx:
        everything = {table: rows_seen(tx, table) for table in (*OF_JOBS, "audit_entries", "audit_log")}
    assert all(everything.values())
    hidden = of == "theirs"
    with store.tenant(org, mine) as tx:
        for table, rows in everything.items():
            # Another entry of the log is of no project.
            left = rows - 1 if "audit" in table else 0
            assert rows_seen(tx, table) == (left if hidden else rows), table


def test_a_project_sees_no_words_to_people(
    database: Connection, store: Database, projects: tuple[UUID, UUID, UUID]
) -> None:
    org, mine, _ = projects
    with store.tenant(org, mine) as tx:
        assert rows_seen(tx, "email_orders") == 1, "a mail that a service has ordered"
    database.execute("update email_orders set is_notification = true")
    with store.tenant(org) as tx:
        assert [table for table in WORDS if not rows_seen(tx, table)] == []
    with store.tenant(org, mine) as tx:
        assert [table for table in WORDS if rows_seen(tx, table)] == []


def rows_seen(tx: Transaction, table: str) -> int:
    return len(tx.raw(f"select org_id from {table}"))  # own names


def test_a_project_writes_no_row_that_others_would_see(store: Database, projects: tuple[UUID, UUID, UUID]) -> None:
    """A row of no project is seen by all of them."""
    org, mine, _ = projects
    columns = "kind, name, media_type, size, sha256, expires_at"
    keep = (
        f"insert into artifacts (id, org_id, project_id, {columns})"
        f" select uuidv7(), org_id, %(project)s, {columns} from artifacts limit 1 returning 1"
    )
    with store.tenant(org, mine) as tx:
        assert tx.raw(keep, {"project": mine})
        assert refused(tx, keep, project=None)
    with store.tenant(org) as tx:
        assert tx.raw(keep, {"project": None})


def test_a_project_cannot_write_anothers_rows(
    database: Connection, store: Database, projects: tuple[UUID, UUID, UUID]
) -> None:
    org, mine, theirs = projects
    before = {table: rows_of(database, table, theirs) for table in PROJECT_TABLES}
    assert all(before.values())
    with store.tenant(org, mine) as tx:
        for table, ((row,), *_) in before.items():
            column, columns = project_column(table), writable_columns(database, table)
            source = f"jsonb_populate_record(null::{table}, %(row)s::jsonb)"
            assert refused(tx, f"insert into {table} ({columns}) select {columns} from {source}", row=row), table
            where = f"where {column} = %(theirs)s returning 1"
            refused(tx, f"update {table} set org_id = org_id {where}", theirs=theirs)
            refused(tx, f"delete from {table} {where}", theirs=theirs)
            move = f"update {table} set {column} = %(theirs)s where {column} = %(mine)s"
            assert refused(tx, move, mine=mine, theirs=theirs), table
    assert {table: rows_of(database, table, theirs) for table in PROJECT_TABLES} == before


@pytest.mark.parametrize("local", ["true", "false"])
@pytest.mark.parametrize("wanted", ["another", "none"])
def test_a_project_cannot_be_put_on_or_taken_off(
    store: Database, projects: tuple[UUID, UUID, UUID], local: str, wanted: str
) -> None:
    org, mine, theirs = projects
    name = str(theirs) if wanted == "another" else ""
    for entry in (mine, None) if name else (mine,):
        with store.tenant(org, entry) as tx:
            tx.raw(f"select set_config('postroom.project', %(name)s, {local})", {"name": name})
            for table in PROJECT_TABLES:
                assert refused(tx, f"select 1 from {table}"), table


def test_a_handler_writes_no_assignment(store: Database, projects: tuple[UUID, UUID, UUID]) -> None:
    org, mine, _ = projects
    with store.tenant(org, mine) as tx:
        assert refused(tx, "delete from assignments returning 1")
        assert refused(tx, "update assignments set is_pinned = true returning 1")
        assert refused(tx, "update slots set headcount = 2 returning 1")


def test_a_job_is_for_a_project_of_its_org_or_for_none(
    store: Database, database: Connection, projects: tuple[UUID, UUID, UUID]
) -> None:
    make_job_type(store)
    org, mine, _ = projects
    ((foreign,),) = database.execute("select id from projects where org_id <> %s limit 1", (org,)).fetchall()
    assert enqueue_one(store, org, project_id=mine)
    for unknown in (foreign, uuid4()):
        with pytest.raises(Invalid) as caught:
            enqueue_one(store, org, project_id=unknown)
        assert caught.value.field == "project_id"
        with pytest.raises(Invalid) as by_sql, store.ledger() as tx:
            tx.raw("select postroom.enqueue('probe.run', %(org)s, project_id => %(id)s)", {"org": org, "id": unknown})
        assert by_sql.value.field == "project_id"


def project_of(database: Connection, job_id: UUID) -> UUID | None:
    ((found,),) = database.execute("select project_id from jobs where id = %s", (job_id,)).fetchall()
    return UUID(str(found)) if found else None


def asked(tx: Transaction, org: UUID, project: UUID | None) -> UUID:
    return UUID(str(tx.raw("select postroom.enqueue('probe.run', %(org)s, project_id => %(project)s)",
                           {"org": org, "project": project})[0][0]))  # fmt: skip


def test_what_a_project_enqueues_is_its_own(
    store: Database, database: Connection, projects: tuple[UUID, UUID, UUID]
) -> None:
    make_job_type(store)
    org, mine, theirs = projects
    job = claim_one(store, enqueue_one(store, org, project_id=mine))
    with store.claimed(org, job.job_id, job.token, job.project_id) as tx:
        inherited = asked(tx, org, None)
    assert project_of(database, inherited) == mine
    with pytest.raises(Forbidden, match="project_id"), store.claimed(org, job.job_id, job.token, mine) as tx:
        asked(tx, org, theirs)
