"""Details stand beside the log; the auditor writes them and nothing else; they leave with their entry."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import Connection

from domain.jobs.audit.details import RULE_VERSION, Details
from domain.jobs.failures import Forbidden
from domain.jobs.job import ClaimedJob
from storage.jobs.audit_log import deletion, details
from storage.postgres.database import Database, TenantTransaction
from storage.postgres.logins import AUDITOR_ROLE
from tests.doubles.audit_entries import count_all, export_all
from tests.doubles.changed_sheets import SHEET, add_change, enriched
from tests.doubles.factories import claim_one, enqueue_one, make_job_type, make_org
from tests.storage.postgres.row_makers import fill_every_table

SAID = Details("run_sheet", SHEET, 2, [{"op": "add", "path": "/x", "value": 1}], ["It changed."])


@pytest.fixture
def job(store: Database, database: Connection) -> ClaimedJob:
    make_job_type(store)
    return claim_one(store, enqueue_one(store, make_org(database)))


@pytest.fixture
def auditor(store: Database, job: ClaimedJob) -> Iterator[TenantTransaction]:
    """A transaction as the handler of an audit job has it."""
    with store.claimed(job.org_id, job.job_id, job.token, role=AUDITOR_ROLE) as tx:
        yield tx


def refused(tx: TenantTransaction, statement: str) -> bool:
    """Whether the role lacks the right to do this."""
    tx.raw("savepoint before")
    try:
        tx.raw(statement)
    except Forbidden:
        tx.raw("rollback to before")
        return True
    return False


def tables(database: Connection) -> list[tuple[str, str]]:
    """Each table of ours: its name, and a column of it."""
    return database.execute(
        "select c.oid::regclass::text, quote_ident(a.attname) from pg_class c"
        " join pg_attribute a on a.attrelid = c.oid and a.attnum = 1"
        " where c.relnamespace in ('public'::regnamespace, 'postroom'::regnamespace)"
        " and c.relkind in ('r', 'p') order by 1"
    ).fetchall()


def test_the_auditor_may_write_no_other_table(database: Connection, auditor: TenantTransaction) -> None:
    fill_every_table(database, uuid4())
    known = tables(database)
    assert {"jobs", "audit_entries", "audit_details", "assignments"} <= {table for table, _ in known}
    may = []
    for table, column in known:
        statements = {
            "insert": f"insert into {table} default values",
            "update": f"update {table} set {column} = default",
            "delete": f"delete from {table}",
            "truncate": f"truncate {table}",
            "lock": f"lock table {table} in row exclusive mode",
            "trigger": f"alter table {table} disable trigger all",
            "policy": f"alter table {table} disable row level security",
            "drop": f"drop table {table}",
            "grant": f"grant all on {table} to public",
        }
        may += [(table, word) for word, statement in statements.items() if not refused(auditor, statement)]
    assert may == [("audit_details", "grant")], "PostgreSQL warns, and grants nothing"
    public = (
        "select count(*) from pg_class c, aclexplode(c.relacl) as a where relname = 'audit_details' and grantee = 0"
    )
    assert database.execute(public).fetchone() == (0,)
    views = database.execute(
        "select count(*) from pg_class c where c.relkind in ('v', 'm', 'f')"
        " and c.relnamespace in ('public'::regnamespace, 'postroom'::regnamespace)"
        " and has_table_privilege('postroom_auditor', c.oid, 'select, insert, update, delete, truncate')"
    ).fetchone()
    assert views == (0,)


def test_the_auditor_becomes_nobody_else_and_calls_nothing_that_writes(
    database: Connection, auditor: TenantTransaction
) -> None:
    for statement in (
        "set role postroom_tenant",
        "set role postroom_ledger",
        "set role postgres",
        "set session authorization postroom_tenant",
        "alter role postroom_auditor bypassrls",
        "grant postroom_tenant to postroom_auditor",
        "create table mine (x int)",
        "create temporary table mine (x int)",
        "do $$ begin end $$",
    ):
        assert refused(auditor, statement), statement
    auditor.raw("reset role; reset session authorization")
    assert auditor.raw("select current_user, session_user")[0] == (AUDITOR_ROLE, AUDITOR_ROLE)
    callable_ = database.execute(
        "select p.proname from pg_proc p where p.pronamespace = 'postroom'::regnamespace"
        " and has_function_privilege('postroom_auditor', p.oid, 'execute') order by 1"
    ).fetchall()
    assert {row[0] for row in callable_} == {
        *("current_org", "hold_claim", "look_at_claim"),
        *("carries_secret", "begins_secret", "mentions_secret", "looks_secret", "names_secret"),
    }


def test_doctor_names_a_right_that_the_auditor_should_not_have(database: Connection) -> None:
    for grant in ("grant insert (name) on orgs to", "grant select on jobs to", "grant delete on audit_details to"):
        database.execute(f"{grant} postroom_auditor".encode())
    found = database.execute("select seen from postroom.wrong_rights() where problem like 'the auditor%' order by 1")
    assert [row[0] for row in found] == ["audit_details", "jobs", "orgs"]


def test_only_the_auditor_writes_details_and_nobody_changes_them(
    store: Database, database: Connection, job: ClaimedJob
) -> None:
    with store.claimed(job.org_id, job.job_id, job.token, role=AUDITOR_ROLE) as tx:
        details.add(tx, job, 2, SAID)
        details.add(tx, job, 2, replace(SAID, sentences=["Twice."]))
    assert enriched(database, job.org_id) == [(2, RULE_VERSION, "It changed.")]
    with pytest.raises(Forbidden), store.tenant(job.org_id) as tx:
        details.add(tx, job, 4, SAID)
    with pytest.raises(Forbidden), store.ledger() as tx:
        details.add(tx, job, 4, SAID)
    for statement in (
        b"update audit_details set revision = 1",
        b"delete from audit_details",
        b"truncate audit_details",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="append-only"):
            database.execute(statement)
        database.rollback()


def test_the_auditor_sees_and_adds_its_own_orgs_alone(store: Database, database: Connection, job: ClaimedJob) -> None:
    other = make_org(database, "another")
    theirs = add_change(database, other, "Theirs")
    mine = add_change(database, job.org_id, "Mine")
    with store.tenant(job.org_id, role=AUDITOR_ROLE) as tx:
        assert [row.id for row in tx.raw("select id from audit_entries where event = 'run_sheet.changed'")] == [mine]
    with pytest.raises(Forbidden), store.tenant(job.org_id, role=AUDITOR_ROLE) as tx:
        details.add(tx, job._replace(org_id=other), theirs, SAID)
    with store.tenant(other) as tx:
        assert details.of_event(tx, job.org_id, mine) == []


def test_an_event_that_was_committed_late_is_found(store: Database, database: Connection, job: ClaimedJob) -> None:
    """Its number is lower than that of the newest event with details."""
    early, late, newest = (add_change(database, job.org_id, "x", hours_ago=hours) for hours in (5, 0, 0))
    with store.claimed(job.org_id, job.job_id, job.token, role=AUDITOR_ROLE) as tx:
        for event_id in (early, newest):
            details.add(tx, job, event_id, SAID)
        assert [one.event_id for one in details.lacking(tx, job.org_id, limit=9)] == [late]
        details.add(tx, job, late, SAID)
        assert details.lacking(tx, job.org_id, limit=9) == []


def test_newer_rules_find_each_event_again_and_the_newest_details_count(
    store: Database, database: Connection, job: ClaimedJob
) -> None:
    events = [add_change(database, job.org_id, "x", hours_ago=hours) for hours in (9, 5, 0)]
    with store.claimed(job.org_id, job.job_id, job.token, role=AUDITOR_ROLE) as tx:
        for event_id in events:
            details.add(tx, job, event_id, SAID)
        newer = RULE_VERSION + 1
        found = details.lacking(tx, job.org_id, rule_version=newer, limit=2)
        assert [one.event_id for one in found] == events[:2]
        details.add(tx, job, events[0], replace(SAID, sentences=["Better."]), rule_version=newer)
        found = details.lacking(tx, job.org_id, rule_version=newer, limit=2)
        assert [one.event_id for one in found] == events[1:]
    with store.tenant(job.org_id) as tx:
        kept = details.newest(tx, [(job.org_id, event_id) for event_id in events[:2]])
        assert [kept[event_id].sentences for event_id in events[:2]] == [["Better."], ["It changed."]]
        assert [one.rule_version for one in details.of_event(tx, job.org_id, events[0])] == [newer, RULE_VERSION]


def test_details_leave_with_their_entry(store: Database, database: Connection, job: ClaimedJob) -> None:
    events = [add_change(database, job.org_id, "x", hours_ago=hours) for hours in (24 * 50, 24 * 40)]
    with store.claimed(job.org_id, job.job_id, job.token, role=AUDITOR_ROLE) as tx:
        for event_id in events:
            details.add(tx, job, event_id, SAID)
    database.execute("delete from jobs")
    export_all(store)
    kept = add_change(database, job.org_id, "y")
    count_all(database)
    with store.tenant(job.org_id, role=AUDITOR_ROLE) as tx:
        details.add(tx, job, kept, SAID)
    with store.ledger() as tx:
        assert deletion.delete_some(tx, keep_for=timedelta(0)).deleted >= len(events)
    assert [event_id for event_id, _, _ in enriched(database, job.org_id)] == [kept]


def test_orgs_are_walked_in_pages_and_those_that_lack_details_are_named(
    store: Database, database: Connection, job: ClaimedJob
) -> None:
    orgs = sorted([job.org_id, *(make_org(database, f"org {number}") for number in range(4))])
    events = {org: add_change(database, org, "x") for org in orgs}
    with store.claimed(job.org_id, job.job_id, job.token, role=AUDITOR_ROLE) as tx:
        details.add(tx, job, events[job.org_id], SAID)
    found: list[details.OrgWithChanges] = []
    after = UUID(int=0)
    with store.ledger() as tx:
        while page := details.orgs_with_changes(tx, after=after, limit=2):
            found += page
            after = page[-1].org_id
        assert [one.org_id for one in found] == orgs
        assert [one.org_id for one in found if not one.is_lacking] == [job.org_id]
