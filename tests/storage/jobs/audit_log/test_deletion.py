"""Entries leave the audit log by one function: in a file, old, counted, and of no job that is still in the ledger."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import psycopg
import pytest
from psycopg import Connection

from domain.jobs.failures import Forbidden, Invalid
from domain.jobs.job import Done
from domain.jobs.lifecycle import settlement_of
from domain.jobs.retry import STANDARD
from storage.jobs import invariants, job_views, ledger
from storage.jobs.audit_log import deletion, exports
from storage.jobs.audit_log.exports import Range
from storage.postgres.database import Database
from tests.doubles.audit_entries import add_entries, count_all, export_all, left
from tests.doubles.factories import claim_one, enqueue_one, make_job_type, make_org

NOW = datetime.now(UTC)
MONTH = timedelta(days=30)
SUM = "0" * 64
JOBS = 500


@pytest.fixture
def org(store: Database, database: Connection) -> UUID:
    make_job_type(store)
    return make_org(database)


def begin(store: Database) -> Range:
    """Begin an export of everything that is in the log."""
    with store.ledger() as tx:
        newest = tx.raw("select max(id) as id from audit_entries")[0].id
        wanted = exports.begin(tx, before=NOW + MONTH, settled=newest)
    assert wanted is not None
    return wanted


def delete_all(store: Database, keep_for: timedelta = MONTH, blocks: int = 64) -> int:
    """Run batches until none has anything left to do at once; returns how many entries went."""
    deleted, is_more = 0, True
    while is_more:
        with store.ledger() as tx:
            batch = deletion.delete_some(tx, keep_for=keep_for, blocks=blocks)
        deleted, is_more = deleted + batch.deleted, batch.is_more
    return deleted


def settle(store: Database, job_id: UUID) -> None:
    settlement = settlement_of(claim_one(store, job_id), Done(), STANDARD, NOW, 0.0)
    with store.ledger() as tx:
        assert not ledger.settle(tx, [settlement]).refused


def test_what_is_exported_old_and_counted_goes_in_bounded_batches(
    store: Database, database: Connection, org: UUID
) -> None:
    add_entries(database, org, 10 * JOBS)
    export_all(store)
    count_all(database)
    with store.ledger() as tx:
        first = deletion.delete_some(tx, keep_for=MONTH, blocks=32)
    assert first.is_more
    assert 0 < first.deleted < 10 * JOBS
    assert first.deleted + delete_all(store, blocks=32) == 2 * 10 * JOBS
    assert left(database) == 0
    with store.ledger() as tx:
        (record,) = exports.listed(tx, limit=9)
    assert record.deleted == 2 * 10 * JOBS
    assert record.emptied_at is not None


@pytest.mark.parametrize("missing", ["export", "file", "age", "counting"])
def test_without_one_of_its_reasons_nothing_goes(
    store: Database, database: Connection, org: UUID, missing: str
) -> None:
    add_entries(database, org, JOBS, age=timedelta(days=29) if missing == "age" else timedelta(days=40))
    if missing != "export":
        begin(store) if missing == "file" else export_all(store)
    if missing != "counting":
        count_all(database)
    assert delete_all(store) == 0
    assert left(database) == 2 * JOBS


def test_a_job_in_the_ledger_keeps_its_events_however_old(store: Database, database: Connection, org: UUID) -> None:
    """A job that lives for long: its timeline and the check for gaps need all of them."""
    waiting, ended = enqueue_one(store, org), enqueue_one(store, org)
    settle(store, ended)
    add_entries(database, org, JOBS)
    export_all(store)
    count_all(database)
    everything = timedelta(0)
    assert delete_all(store, everything) == 2 * JOBS
    with store.ledger() as tx:
        assert not invariants.audit_gaps(tx, batch=100).wrong
        for job_id, events in ((waiting, 1), (ended, 3)):
            found = job_views.timeline(tx, job_id)
            assert found is not None
            assert len(found.events) == events
    database.execute("delete from jobs where id = %s", (ended,))
    assert delete_all(store, everything) == 0, "what stayed is looked at again a day later"
    database.execute("update audit_exports set look_from = now()")
    assert delete_all(store, everything) == 3
    database.execute("delete from jobs where id = %s", (waiting,))
    database.execute("update audit_exports set look_from = now()")
    assert delete_all(store, everything) == 1
    assert left(database) == 0


def test_a_jobs_events_wait_for_its_last_one(store: Database, database: Connection, org: UUID) -> None:
    """Half of a job's life would be told wrongly, and the counting of its end looks for its start."""
    job_id = enqueue_one(store, org)
    export_all(store)
    settle(store, job_id)
    database.execute("delete from jobs")
    count_all(database)
    assert delete_all(store, timedelta(0)) == 0, "its end is in no file"
    export_all(store)
    database.execute("update counting set counted_to = 2")
    database.execute("update audit_exports set look_from = now()")
    assert delete_all(store, timedelta(0)) == 0, "its end is not counted"
    count_all(database)
    database.execute("update audit_exports set look_from = now()")
    assert delete_all(store, timedelta(0)) == 3


def test_events_that_no_job_has_go_by_age_alone(store: Database, database: Connection, org: UUID) -> None:
    database.execute(
        "insert into audit_entries (at, event, org_id, actor_type, actor_id, request_id, correlation_id)"
        " values (now() - interval '40 days', 'secret.set', %s, 'user', 'ada', 'r', 'c')",
        (org,),
    )
    export_all(store)
    count_all(database)
    assert delete_all(store) == 1


def test_a_rewritten_table_loses_no_trace(store: Database, database: Connection, org: UUID) -> None:
    """VACUUM FULL moves every row: the blocks that were noted hold others then."""
    add_entries(database, org, JOBS, age=timedelta(days=40))
    export_all(store)
    add_entries(database, org, JOBS, age=timedelta(days=35))
    export_all(store)
    count_all(database)
    with store.ledger() as tx:
        assert deletion.delete_some(tx, keep_for=MONTH, blocks=32).deleted
    database.execute("vacuum full audit_entries")
    delete_all(store)
    assert left(database) == 0


def test_rows_that_a_restore_has_moved_are_found(store: Database, database: Connection, org: UUID) -> None:
    for _ in range(2):
        add_entries(database, org, JOBS)
        export_all(store)
    count_all(database)
    with database.transaction():
        database.execute("set local session_replication_role = replica")
        database.execute("create temporary table kept on commit drop as select * from audit_entries order by id desc")
        database.execute("delete from audit_entries")
        database.execute("insert into audit_entries overriding system value select * from kept")
    assert delete_all(store) == 2 * 2 * JOBS
    assert left(database) == 0


@pytest.mark.parametrize("given", ["", "set postroom.deletes_audit = 'on'; "])
def test_what_no_file_has_cannot_be_deleted_by_the_owner_either(
    store: Database, database: Connection, org: UUID, given: str
) -> None:
    add_entries(database, org, 3)
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match=r"append-only|keeps what"):
        database.execute(f"{given}delete from audit_entries".encode())
    assert left(database) == 6
    assert org
    assert store


def test_roles_delete_by_the_function_alone(store: Database, database: Connection, org: UUID) -> None:
    add_entries(database, org, 3)
    for change in ("delete from audit_entries", "update audit_exports set events = 0", "delete from audit_exports"):
        with store.ledger() as tx, pytest.raises(Forbidden):
            tx.raw(change)
    for call in (
        "select * from postroom.delete_audit_entries('0 s', 1)",
        "select * from postroom.begin_audit_export(2)",
        "select postroom.finish_audit_export(2, 1, '')",
        "select * from audit_exports",
    ):
        with pytest.raises(Forbidden), store.tenant(org) as tx:
            tx.raw(call)


def test_a_finished_export_is_finished_for_good(store: Database, database: Connection, org: UUID) -> None:
    add_entries(database, org, 3)
    wanted = begin(store)
    export_all(store)
    with store.ledger() as tx:
        assert not exports.hold(tx, wanted)
    with store.ledger() as tx, pytest.raises(Invalid, match="no export up to"):
        exports.finish(tx, wanted, events=7, sha256=SUM)
    with store.ledger() as tx, pytest.raises(Invalid):
        tx.raw("select postroom.begin_audit_export(1000000)")
