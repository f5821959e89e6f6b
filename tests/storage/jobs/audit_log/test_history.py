"""Old rows of the history go, those of short spans first; and where it says that no job is, lists do not look."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from psycopg import Connection

from domain.jobs.monitoring.history import KEPT
from domain.jobs.monitoring.job_filter import JobFilter
from storage.jobs import job_views
from storage.jobs.audit_log import history
from storage.postgres.database import Database
from storage.postgres.execution import Row
from storage.postgres.looking import Looked
from tests.doubles.factories import make_job_type, make_org
from tests.storage.jobs.audit_log.longer_spans import SPREAD

NUMBERS = "enqueued, started, retried, succeeded, failed, dead, canceled, lost, seconds, histogram, microcents"
ADD_ROWS = f"""
insert into job_minutes (minute, span, job_type, queue, {NUMBERS})
select now() - age, span, 'probe.a', 'default', 1, 1, 0, 1, 0, 0, 0, 0, 1, array_fill(0, array[17]), 2
from unnest(%s::integer[]) span, unnest(%s::interval[]) age
"""  # constants
ADD_SAMPLES = """
insert into queue_samples
select now() - age, span, 'default', 1, 1, 0, 0, 0, 1 from unnest(%s::integer[]) span, unnest(%s::interval[]) age
"""


def test_rows_of_each_span_go_when_their_time_is_over(database: Connection, store: Database) -> None:
    around = [kept + more for kept in KEPT.values() for more in (-timedelta(hours=1), timedelta(hours=1))]
    for statement in (ADD_ROWS, ADD_SAMPLES):
        database.execute(statement.encode(), ([1, 10, 60, 1440], list(dict.fromkeys(around))))
    with store.ledger() as tx:
        gone = [(one.table, one.only, one.forget(tx)) for one in history.RETENTIONS if one.table != "org_hours"]
    assert len(gone) == 8
    for table in ("job_minutes", "queue_samples"):
        oldest = f"select span, max(now() - minute) from {table} group by 1 order by 1"
        found: dict[int, timedelta] = dict(database.execute(oldest.encode()).fetchall())
        ages = {step: found[span] + timedelta(hours=1) for step, span in history.SPANS.items()}
        assert {step: round(age / timedelta(days=1), 3) for step, age in ages.items()} == {
            step: kept / timedelta(days=1) for step, kept in KEPT.items()
        }


HOURS_AGO = 30
FILL = """
insert into jobs (id, org_id, job_type, queue, payload, payload_version, idempotency_key, guarded, actor_type, actor_id,
  request_id, correlation_id, max_attempts, deadline, state, created_at, finished_at)
select uuidv7(at - clock_timestamp()), %(org)s, %(type)s, 'default', %(payload)s, 1, 'k' || random(), false, 'system',
  'x', 'r', 'c', 5, interval '5 minutes', 'succeeded', at, at
from (select now() - n * interval '1 minute' as at from unnest(%(minutes)s::int[]) n) as made
"""


@pytest.fixture
def filled(database: Connection, store: Database, org: UUID) -> UUID:
    """Many jobs of one type and org, and before them three of another; all are counted. Returns that org."""
    make_job_type(store)
    make_job_type(store, "probe.rare")
    rare_org = make_org(database, "rare")
    database.execute("set session_replication_role = replica")  # as if the rows had been written then
    common = {"org": org, "type": "probe.run", "payload": "{}", "minutes": list(range(1, HOURS_AGO * 60))}
    rare = {"org": rare_org, "type": "probe.rare", "payload": '{"a": {"b": 7}}'}
    database.execute(FILL.encode(), common)
    database.execute(FILL.encode(), rare | {"minutes": [HOURS_AGO * 60 - n for n in (1, 2, 500)]})
    database.execute(
        f"insert into job_minutes (minute, job_type, queue, {NUMBERS})"
        " select date_bin('1 minute', created_at, 'epoch'), job_type, queue, count(*), 0, 0, 0, 0, 0, 0, 0, 0,"
        " array_fill(0, array[17]), 0 from jobs group by 1, 2, 3"
    )
    database.execute(SPREAD.encode())
    database.execute(
        "insert into org_hours select date_bin('1 hour', created_at, 'epoch'), org_id, job_type, count(*), 0, 0, 0, 0,"
        " 0, 0 from jobs group by 1, 2, 3"
    )
    database.execute("update counting set counted_at = now()")
    database.execute("set session_replication_role = origin")
    return rare_org


def ages(found: Looked[Row]) -> list[int]:
    """How many minutes ago the jobs of a list were made."""
    now = datetime.now(UTC)
    return [round((now - line.created_at).total_seconds() / 60) for line in found.rows]


RARE = [HOURS_AGO * 60 - 500, HOURS_AGO * 60 - 2, HOURS_AGO * 60 - 1]


@pytest.mark.usefixtures("filled")
def test_a_rare_type_is_found_though_many_jobs_are_newer(store: Database) -> None:
    with store.ledger() as tx:
        found = job_views.listed(tx, JobFilter(job_types=("probe.rare",)), limit=10, most_looked_at=(50,))
    assert ages(found) == RARE
    assert found.reached is None


@pytest.mark.parametrize("job_type", [None, "probe.rare"])
def test_an_org_with_few_jobs_finds_them_among_those_of_others(
    store: Database, filled: UUID, job_type: str | None
) -> None:
    with store.tenant(filled) as tx:
        found = job_views.listed(
            tx, JobFilter(job_types=(job_type,) if job_type else ()), limit=10, most_looked_at=(300,)
        )
    assert ages(found) == RARE
    assert found.reached is None


@pytest.mark.usefixtures("filled")
def test_what_is_not_counted_yet_is_looked_for_everywhere(store: Database, database: Connection) -> None:
    database.execute("delete from job_minutes where job_type = 'probe.rare'")
    for counted_at, found_now in ((None, RARE), ("29 hours", []), ("31 hours", RARE)):
        database.execute("update counting set counted_at = now() - %s::interval", (counted_at,))
        with store.ledger() as tx:
            found = job_views.listed(tx, JobFilter(job_types=("probe.rare",)), limit=10)
        assert ages(found) in ([*found_now], [*RARE[:1], *found_now])


@pytest.mark.usefixtures("filled")
def test_jobs_of_a_type_that_was_unknown_when_they_were_counted_are_found(
    store: Database, database: Connection
) -> None:
    database.execute("update job_minutes set job_type = 'unknown' where job_type = 'probe.rare'")
    with store.ledger() as tx:
        found = job_views.listed(tx, JobFilter(job_types=("probe.rare",)), limit=10, most_looked_at=(50,))
    assert ages(found) == RARE


@pytest.mark.usefixtures("filled")
def test_a_list_says_how_far_its_zones_reach(store: Database) -> None:
    """The zones of the rare type hold more jobs than are looked at, so the second page goes on."""
    with store.ledger() as tx:
        first = job_views.listed(tx, JobFilter(job_types=("probe.rare",)), limit=10, most_looked_at=(8,))
        assert first.reached is not None
        at = job_views.JobPosition(first.reached, job_views.FIRST_ID)
        second = job_views.listed(tx, JobFilter(job_types=("probe.rare",)), after=at, limit=10, most_looked_at=(1000,))
    assert [*ages(first), *ages(second)] == RARE


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize("gone", [(1,), (1, 10)])
def test_a_rare_type_is_found_by_longer_spans_where_the_shorter_are_gone(
    store: Database, database: Connection, monkeypatch: pytest.MonkeyPatch, gone: tuple[int, ...]
) -> None:
    for step, span in history.SPANS.items():
        if span in gone:
            monkeypatch.setitem(KEPT, step, timedelta(hours=1))
    database.execute(
        "delete from job_minutes where span = any (%s) and minute < now() - interval '1 hour'", (list(gone),)
    )
    with store.ledger() as tx:
        found = job_views.listed(tx, JobFilter(job_types=("probe.rare",)), limit=10, most_looked_at=(1200,))
    assert ages(found) == RARE
    assert found.reached is None


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize(("value", "number"), [("7", 3), ("8", 0)])
def test_jobs_are_found_by_a_value_of_their_payload(store: Database, value: str, number: int) -> None:
    with store.ledger() as tx:
        found = job_views.listed(tx, JobFilter(payload=(f"a.b={value}",)), limit=10)
    assert len(found.rows) == number


def test_an_id_that_is_older_than_its_row_is_listed_by_its_own_time(
    store: Database, database: Connection, org: UUID
) -> None:
    """A message that waited in a broker for hours: the history counts it when it came."""
    make_job_type(store)
    database.execute(FILL.encode(), {"org": org, "type": "probe.run", "payload": "{}", "minutes": [0, 300]})
    marked = database.execute("select foreign_at = created_at from jobs order by created_at").fetchall()
    assert marked == [(True,), (None,)]
