"""What leaves and what is looked up reads its own part of the audit log, also when new rows took old ones' places."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from psycopg import Connection

from storage.jobs.audit_log import deletion
from storage.postgres.database import Database
from storage.postgres.queries import statement
from tests.doubles.audit_entries import add_entries, count_all, export_all
from tests.doubles.factories import make_job_type, make_org
from tests.storage.jobs.plans.explained import indexes, nodes, plans_of

JOBS = 10_000
MONTH = timedelta(days=30)
DELETE = "select * from postroom.delete_audit_entries(%s, 64)"


@pytest.fixture
def org(store: Database, database: Connection) -> UUID:
    make_job_type(store)
    return make_org(database)


def refill(store: Database, database: Connection, org: UUID) -> None:
    """Let the first file's entries leave, and new ones take their place."""
    for _ in range(3):
        add_entries(database, org, JOBS)
        export_all(store)
    count_all(database)
    database.execute("vacuum audit_entries")  # the index learns the numbers of the first rows
    deleted = 0
    while deleted < 2 * JOBS:
        with store.ledger() as tx:
            deleted += deletion.delete_some(tx, keep_for=MONTH).deleted
    database.execute("vacuum (analyze) audit_entries")
    add_entries(database, org, JOBS)
    database.execute("vacuum (analyze) audit_entries")


def rows_read(plan: dict[str, Any]) -> float:
    """The rows of the log that a scan looked at, those that it passed over as well."""
    passed = plan.get("Rows Removed by Filter", 0) + plan.get("Rows Removed by Index Recheck", 0)
    return float((plan["Actual Rows"] + passed) * plan["Actual Loops"])


def scans(reported: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [node for one in reported for node in nodes(one["Plan"]) if node.get("Relation Name") == "audit_entries"]


def test_a_deletion_reads_only_its_blocks(store: Database, database: Connection, org: UUID) -> None:
    refill(store, database, org)
    with plans_of(database) as reported:
        database.execute("set auto_explain.log_analyze = on")
        (deleted, _) = database.execute(DELETE, (MONTH,)).fetchone() or (0, False)
    assert deleted > 1000
    kinds = {node["Node Type"] for node in scans(reported)}
    assert "Tid Range Scan" in kinds
    assert not any("Seq Scan" in kind for kind in kinds), kinds
    assert {"audit_entries_job", "jobs_pkey"} <= indexes(reported)
    assert sum(map(rows_read, scans(reported))) < 5 * deleted


def test_by_numbers_it_would_read_the_whole_log(store: Database, database: Connection, org: UUID) -> None:
    """Why blocks are noted: a block-range index forgets no number, and excludes nothing once the log went round."""
    refill(store, database, org)
    count = "select count(*) from audit_entries where id > %s and id <= %s"
    (after, upto) = database.execute(
        "select after_id, upto_id from audit_exports order by upto_id offset 1 limit 1"
    ).fetchone() or (0, 0)
    found = {}
    for rewritten in (False, True):
        if rewritten:
            database.execute("reindex index audit_entries_order")
        database.execute("set enable_seqscan = off")
        with plans_of(database) as reported:
            database.execute("set auto_explain.log_analyze = on")
            database.execute(count, (after, after + (upto - after) // 10))
        found[rewritten] = max(map(rows_read, scans(reported)))
    assert found[False] > 5 * found[True], found


def test_an_export_reads_its_range_by_the_index(store: Database, database: Connection, org: UUID) -> None:
    for _ in range(5):
        add_entries(database, org, JOBS)
    database.execute("vacuum (analyze) audit_entries")
    given = {"after": 20_000, "upto": 60_000}
    with plans_of(database) as reported:
        database.execute("set auto_explain.log_analyze = on")
        with database.transaction():
            database.execute(statement("find_export_end").encode(), given | {"before": datetime.now(UTC)})
            database.execute(statement("open_export").encode(), given)
            assert len(database.execute("fetch all from exported_events").fetchall()) == 30_000
    assert {"audit_entries_order", "audit_entries_starts"} <= indexes(reported)
    assert not any("Seq Scan" in node["Node Type"] for node in scans(reported))
    assert store


def test_what_happened_is_found_by_indexes(store: Database, database: Connection, org: UUID) -> None:
    add_entries(database, org, 5 * JOBS)
    database.execute("vacuum (analyze) audit_entries")
    asked: dict[str, dict[str, Any]] = {
        "list_events_of_correlation": {"correlation_id": "c77", "root_id": None, "after": 0, "limit": 100},
        "list_other_events": {"before": 2**62, "limit": 100},
        "list_named_events_of_org": {"org_id": org, "event": "email.sent", "before": 2**62, "limit": 100},
    }
    with plans_of(database) as reported:
        for name, given in asked.items():
            database.execute(statement(name).encode(), given)
    used = {"audit_entries_correlation", "audit_entries_job", "audit_entries_deeds", "audit_entries_named"}
    assert used <= indexes(reported)
    assert not any("Seq Scan" in node["Node Type"] for node in scans(reported))
    assert store


def test_what_lacks_details_is_found_by_indexes_among_many_that_have_them(
    store: Database, database: Connection, org: UUID
) -> None:
    add_entries(database, org, JOBS)
    many, subject = 5_000, UUID(int=7)
    orgs = [org, *(make_org(database, f"org {number}") for number in range(20))]
    for one in orgs:
        database.execute(
            "insert into audit_entries (at, event, org_id, actor_type, actor_id, request_id, correlation_id, data)"
            " select now() - n * interval '1 hour', 'run_sheet.changed', %s, 'user', 'ada', 'r', 'c', '{}'"
            " from generate_series(%s, 1, -1) as n",
            (one, many if one == org else 10),
        )
    database.execute(
        "insert into audit_details (org_id, rule_version, event_id, subject, subject_id, changes, sentences, made_by)"
        " select org_id, 1, id, 'run_sheet', %s, '[]', '[]', uuidv7() from audit_entries"
        " where event = 'run_sheet.changed'",
        (subject,),
    )
    database.execute("vacuum (analyze) audit_entries, audit_details")
    asked: dict[str, dict[str, Any]] = {
        "list_lacking_details": {"org_id": org, "rule_version": 1, "limit": 25},
        "list_orgs_lacking_details": {"after": UUID(int=0), "rule_version": 1, "limit": 500},
        "list_events_of_subject": {"org_id": org, "subject_id": subject, "before": 2**62, "limit": 51},
        "list_details_of_events": {"org_ids": [org], "event_ids": list(range(20_002, 20_102, 2))},
        "list_details_of_event": {"org_id": org, "event_id": 20_002},
        "find_other_event_of_org": {"org_id": org, "event_id": 20_002},
        "find_other_event": {"event_id": 20_002},
    }
    for name, given in asked.items():
        with plans_of(database) as reported:
            database.execute("set auto_explain.log_analyze = on")
            database.execute(statement(name).encode(), given)
        ran = [
            node
            for one in reported
            for node in nodes(one["Plan"])
            if str(node.get("Relation Name")).startswith("audit")
        ]
        assert not any("Seq Scan" in node["Node Type"] for node in ran), name
        assert sum(map(rows_read, ran)) <= 500, (name, [(node["Node Type"], rows_read(node)) for node in ran])
    assert store
