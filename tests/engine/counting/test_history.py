"""The history of jobs is counted once, together with the metrics, and says what they say."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from psycopg import Connection

from domain.jobs.failures import Permanent, Transient
from domain.jobs.job import Cancel, Done, Origin
from domain.jobs.monitoring.history import FIELDS
from engine.counting.job_counter import JobCounter
from storage.jobs import ledger
from storage.jobs.audit_log import failure_groups
from storage.postgres.database import Database
from tests.doubles.factories import enqueue_one, make_job_type, make_org
from tests.engine.counting.test_job_counter import counter, end, org, other

__all__ = ["counter", "org", "other"]  # fixtures of the counter's own tests


def sums(database: Connection, table: str) -> dict[str, float]:
    """What a table of the history has in all, by its columns: the same in the rows of each span, if it has several."""
    summed = ", ".join(f"sum({name}) as {name}" for name in COLUMNS[table])
    by_span = " group by span" if table == "job_minutes" else ""
    rows = database.execute(f"select to_jsonb(s) from (select {summed} from {table}{by_span}) s".encode()).fetchall()
    assert len(rows) == (4 if by_span else 1)
    (row, *others) = [{name: value or 0 for name, value in row.items()} for (row,) in rows]
    assert all(one == pytest.approx(row) for one in others)
    return row


OF_ORGS = ("enqueued", "succeeded", "failed", "dead", "canceled", "seconds", "microcents")
COLUMNS = {"job_minutes": (*FIELDS.values(), "seconds"), "org_hours": OF_ORGS}


def test_the_history_has_what_the_metrics_have_whoever_counts(
    database: Connection, store: Database, org: UUID, counter: JobCounter, other: JobCounter
) -> None:
    make_job_type(store, "probe.paid", providers=("anthropic",))
    another = make_org(database, "another")
    for turn, counting in enumerate((counter, other, counter)):
        for outcome in (Done(), Permanent("no", code="gmail.notADraft"), Transient("maybe"), Cancel("pointless")):
            end(store, org if turn else another, outcome)
        end(store, org, Done(), job_type="probe.paid")
        with store.ledger() as tx:
            ledger.cancel(tx, [enqueue_one(store, org)], "not wanted", by=Origin())
        database.execute("update counting set holder = null, held_at = null")
        counting.turn()
    kept = sums(database, "job_minutes")
    assert {name: kept[name] for name in ("enqueued", "succeeded", "failed", "canceled", "retried", "started")} == {
        "enqueued": 18,
        "succeeded": 6,
        "failed": 3,
        "canceled": 6,
        "retried": 3,
        "started": 15,
    }
    assert counter.counts is not None
    for metric, field in FIELDS.items():
        shown = sum(total for series, total in counter.counts.totals.items() if series.metric == metric.name)
        assert kept[field] == shown, field
    of_orgs = sums(database, "org_hours")
    assert of_orgs == pytest.approx({name: kept[name] for name in OF_ORGS})
    row = database.execute("select sum(enqueued) from org_hours where org_id = %s", (another,)).fetchone()
    assert row == (4,)


def test_failures_are_grouped_by_their_kind_and_all_are_in_a_group(
    database: Connection, store: Database, org: UUID, counter: JobCounter
) -> None:
    for number in range(25):
        newest = end(store, org, Permanent(f"there is no draft r-{number}", code="gone"))
    end(store, org, Permanent("the label 'Done' exists", code="conflict"))
    counter.turn()
    groups = {
        row[0]: row[1:]
        for row in database.execute("select code, words, failures, job_ids from failure_groups").fetchall()
    }
    assert groups["gone"][:2] == ("there is no draft …", 25)
    assert len(groups["gone"][2]) == 20
    assert groups["gone"][2][0] == newest
    assert groups["conflict"][:2] == ("the label … exists", 1)
    assert sum(one[1] for one in groups.values()) == sums(database, "job_minutes")["failed"]


def test_a_mended_kind_that_fails_again_is_new(
    database: Connection, store: Database, org: UUID, counter: JobCounter
) -> None:
    end(store, org, Permanent("no such draft", code="gone"))
    counter.turn()
    (fingerprint,) = database.execute("select fingerprint from failure_groups").fetchone() or ("",)
    for state, then in (("known", "known"), ("mended", "new")):
        with store.ledger() as tx:
            failure_groups.mark(tx, fingerprint, state=state, note="a deploy", by="ada")
        end(store, org, Permanent("no such draft", code="gone"))
        counter.turn()
        assert database.execute("select state, note from failure_groups").fetchall() == [(then, "a deploy")]
    assert database.execute("select failures from failure_groups").fetchall() == [(3,)]


@pytest.mark.parametrize(
    ("mended_in", "release", "then"),
    [
        ("1.10", "1.9", "mended"),
        ("1.10", "1.10", "new"),
        ("1.9", "1.10.1", "new"),
        ("1.9", "", "new"),
        ("", "1", "new"),
    ],
)
def test_a_kind_that_is_mended_in_a_release_is_new_where_that_or_a_later_one_fails(
    database: Connection,
    store: Database,
    org: UUID,
    counter: JobCounter,
    mended_in: str,
    release: str,
    then: str,
) -> None:
    end(store, org, Permanent("no such draft", code="gone"))
    counter.turn()
    (fingerprint,) = database.execute("select fingerprint from failure_groups").fetchone() or ("",)
    with store.ledger() as tx:
        failure_groups.mark(tx, fingerprint, state="mended", note=None, by="ada", mended_in=mended_in or None)
    end(store, org, Permanent("no such draft", code="gone"))
    database.execute("update workers set version = %s", (release,))
    counter.turn()
    query = "select state, seen_in, reopened_at is not null from failure_groups"
    assert database.execute(query).fetchone() == (then, release or None, then == "new")


def test_each_minute_keeps_the_most_that_waited(
    database: Connection, store: Database, org: UUID, counter: JobCounter
) -> None:
    enqueue_one(store, org, run_at=datetime.now(UTC) - timedelta(minutes=5))
    counter.turn()
    database.execute(
        "update queue_samples set minute = date_trunc('minute', now()) + interval '1 minute' where span = 1"
    )
    database.execute(
        "insert into queue_samples select minute - interval '1 minute', span, queue, 9, 9, 0, 9, 9, 0"
        " from queue_samples where queue = 'default' and span = 1"
    )
    counter.turn()
    rows = database.execute(
        "select due, backlog, published, held, oldest_due_s >= 300 from queue_samples"
        " where queue = 'default' and span = 1 and minute = date_trunc('minute', now())"
    ).fetchall()
    assert rows in ([(9, 9, 1, 9, True)], [(0, 0, 1, 0, True)])  # the minute may have ended meanwhile
    queues = database.execute("select count(distinct queue) from queue_samples where due = 0").fetchone()
    assert queues == (7,)


def test_what_is_counted_up_to_a_time_was_written_before_it(
    database: Connection, store: Database, org: UUID, counter: JobCounter
) -> None:
    enqueue_one(store, org)
    counter.turn()
    enqueue_one(store, org)
    rows = database.execute(
        "select a.id <= c.counted_to, a.at < c.counted_at from audit_entries a, counting c order by a.id"
    ).fetchall()
    assert rows == [(True, True), (False, False)]
