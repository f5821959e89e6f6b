"""Lists of jobs: each shows the jobs of its states, in order, once, and says how far it looked."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest
from psycopg import Connection
from psycopg.types.json import Jsonb

from domain.jobs.job import NewJob, Origin, State
from domain.jobs.lifecycle import Settlement
from domain.jobs.monitoring.job_filter import JobFilter
from storage.jobs import job_views, ledger
from storage.jobs.job_views import CLOCKS_DIFFER, FIRST_ID, TROUBLED, UNFINISHED, JobPosition
from storage.postgres.database import Database
from storage.postgres.execution import Row
from storage.postgres.looking import FIRST_TIME, Looked
from tests.doubles.factories import HINT_TIMEOUT, claim_one, enqueue_one, make_job_type, make_org

ENDS = [State.SUCCEEDED, State.FAILED, State.DEAD]
LONG_AGO = timedelta(days=3)


@pytest.fixture
def jobs(store: Database, org: UUID) -> dict[State, UUID]:
    """A job in each state."""
    make_job_type(store)
    made: dict[State, UUID] = {state: enqueue_one(store, org) for state in State if state is not State.CLAIMED}
    for state in [*ENDS, State.RUNNING]:
        job = claim_one(store, made[state])
        if state.final:
            error = None if state is State.SUCCEEDED else {"reason": "it broke"}
            with store.ledger() as tx:
                ledger.settle(tx, [Settlement(job.job_id, job.token, state, started_at=datetime.now(UTC), error=error)])
    with store.ledger() as tx:
        ledger.cancel(tx, [made[State.CANCELED]], "not needed", by=Origin())
    return made


@pytest.mark.parametrize("most_unfinished", [0, 1000])
@pytest.mark.parametrize(
    "states", [[], *[[state] for state in State], sorted(TROUBLED), sorted(UNFINISHED), list(State)]
)
def test_a_list_has_the_jobs_of_its_states(
    store: Database, org: UUID, jobs: dict[State, UUID], states: list[State], most_unfinished: int
) -> None:
    wanted = [job for state, job in reversed(jobs.items()) if not states or state in states]
    for transaction in (store.tenant(org), store.ledger()):
        with transaction as tx:
            found = job_views.listed(tx, JobFilter(states=states), limit=100, most_unfinished=most_unfinished)
        assert [line.job_id for line in found.rows] == wanted
        assert found.reached is None


@pytest.mark.parametrize("states", [(), ("queued",), ("canceled",)])
@pytest.mark.parametrize("most", [1, 2, 5, 100])
def test_pages_show_every_job_once_whatever_its_id(
    store: Database, database: Connection, org: UUID, states: tuple[str, ...], most: int
) -> None:
    """Ids by time, ids that say nothing, and ids of another time; and jobs of an org between those of another."""
    make_job_type(store)
    other = make_org(database, "other")
    now = datetime.now(UTC)
    made: list[tuple[datetime, UUID]] = []
    for n in range(12):
        at = now - timedelta(minutes=20 - n)
        by_time, by_another = (
            row[0]
            for row in database.execute(
                "select uuidv7(%s) union all select uuidv7(%s)", (at - now, at - now - LONG_AGO)
            )
        )
        job_id = (by_time, uuid4(), by_another)[n % 3]
        put(store, database, org, job_id, at)
        put(store, database, other, database.execute("select uuidv7(%s)", (at - now,)).fetchone()[0], at)  # type: ignore[index] # one row
        made.append((at, job_id))
    if states == ("canceled",):
        with store.ledger() as tx:
            ledger.cancel(tx, [job_id for _, job_id in made], "not needed", by=Origin())
    seen, looks, after = list[UUID](), 0, None
    while True:
        with store.tenant(org) as tx:
            found = job_views.listed(
                tx, JobFilter(states=states), after=after, limit=3, most_looked_at=[most], most_unfinished=most
            )
        seen += [line.job_id for line in found.rows[:3]]
        looks += 1
        following = position_after(found, 3)
        if following is None:
            break
        assert after is None or following < after
        after = following
    assert seen == [job_id for _, job_id in reversed(made)]
    assert looks > 4 or most == 100 or states == ("canceled",)


def put(store: Database, database: Connection, org: UUID, job_id: UUID, at: datetime) -> None:
    enqueue_one(store, org, job_id=job_id)
    made = database.execute("delete from jobs where id = %s returning to_jsonb(jobs)", (job_id,)).fetchone()
    then = "insert into jobs select (jsonb_populate_record(null::jobs, %s || jsonb_build_object('created_at', %s))).*"
    database.execute(then, (Jsonb(made and made[0] | {"foreign_at": None}), at))


def position_after(found: Looked[Row], limit: int) -> JobPosition | None:
    if len(found.rows) > limit:
        return JobPosition(found.rows[limit - 1].at, found.rows[limit - 1].job_id)
    return None if found.reached is None else JobPosition(found.reached, FIRST_ID)


def test_a_list_says_how_far_it_looked(store: Database, database: Connection, org: UUID) -> None:
    make_job_type(store)
    other = make_org(database, "other")
    oldest = enqueue_one(store, other)
    between: Sequence[UUID] = [enqueue_one(store, org) for _ in range(10)]
    with store.tenant(other) as tx:
        found = job_views.listed(tx, JobFilter(), limit=5, most_looked_at=[4])
        assert (list(found.rows), found.reached is None) == ([], False)
        found = job_views.listed(tx, JobFilter(), limit=5, most_looked_at=[4, 100])
        assert ([line.job_id for line in found.rows], found.reached) == ([oldest], None)
        lately = JobFilter(since=datetime.now(UTC) + timedelta(minutes=5))
        assert job_views.listed(tx, lately, limit=5, most_looked_at=[4]).reached is None, (
            "what is older is not asked for"
        )
    assert len(between) == 10


NOW = datetime(2026, 11, 26, tzinfo=UTC)
HOUR, DAY = NOW - timedelta(hours=1), NOW - timedelta(days=1)


@pytest.mark.parametrize(
    ("since", "reached", "bounds"),
    [
        (None, None, (None, None)),
        (None, HOUR, (HOUR, HOUR)),
        (DAY, HOUR, (HOUR, HOUR)),
        (HOUR, DAY, (HOUR - CLOCKS_DIFFER, None)),
        (HOUR, None, (HOUR - CLOCKS_DIFFER, None)),
        (FIRST_TIME, None, (FIRST_TIME, None)),
    ],
)
def test_a_list_reads_no_further_back_than_is_asked_for(
    since: datetime | None, reached: datetime | None, bounds: tuple[datetime | None, datetime | None]
) -> None:
    assert job_views.lower_bound(since, reached) == bounds


def test_an_org_finds_its_few_jobs_behind_a_great_backlog(store: Database, database: Connection, org: UUID) -> None:
    make_job_type(store)
    mine = enqueue_one(store, org)
    other = make_org(database, "other")
    with store.ledger() as tx:
        jobs = [NewJob("probe.run", other, {}) for _ in range(500)]
        ledger.enqueue(tx, jobs, publisher=True, hint_timeout=HINT_TIMEOUT)
    with store.tenant(org) as tx:
        found = job_views.listed(
            tx, JobFilter(states=(State.QUEUED,)), limit=5, most_looked_at=[10], most_unfinished=1000
        )
        assert [line.job_id for line in found.rows] == [mine]
        found = job_views.listed(
            tx, JobFilter(states=(State.QUEUED,)), limit=5, most_looked_at=[10], most_unfinished=100
        )
        assert (list(found.rows), found.reached is None) == ([], False)
