"""A walk in small looks meets each job and letter once, whatever ids clients choose, and none that came later."""

from datetime import datetime, timedelta
from uuid import UUID, uuid4

import pytest
from psycopg import Connection

from domain.jobs.job import Origin, State
from domain.jobs.monitoring.job_filter import JobFilter
from domain.jobs.replays.bulk_filter import BulkVerb
from storage.jobs import ledger
from storage.jobs.replays import bulk_actions
from storage.jobs.replays.bulk_actions import Place
from storage.postgres.database import Database
from tests.doubles.factories import claim_one, enqueue_one, make_job_type, make_org

LOW_ID = UUID("00000001-0000-4000-8000-000000000000")
"""As a client may choose one: before all ids that the ledger makes."""


def walked(store: Database, verb: BulkVerb, wanted: JobFilter, now: datetime, limit: int, most: int) -> list[UUID]:
    found: list[UUID] = []
    place, passed = Place.start(now), set[UUID]()
    with store.ledger() as tx:
        while True:
            part = bulk_actions.match(tx, verb, wanted, place, limit=limit, most_looked_at=most)
            found += [one.subject_id for one in part.subjects]
            if part.after_id is None:
                counted = bulk_actions.count(tx, verb, wanted, now)
                assert counted == (len(found), True)
                return found
            assert part.after_id not in passed, "a walk goes on"
            passed.add(part.after_id)
            place = place._replace(after_id=part.after_id)


def time_of(store: Database) -> datetime:
    with store.ledger() as tx:
        return ledger.read_time(tx)


@pytest.mark.parametrize(("limit", "most"), [(1, 1), (2, 3), (3, 2), (100, 100)])
@pytest.mark.parametrize("since", [None, timedelta(hours=1)])
def test_each_job_is_met_once(store: Database, org: UUID, limit: int, most: int, since: timedelta | None) -> None:
    make_job_type(store)
    own = [enqueue_one(store, org, payload={"n": n}) for n in range(5)]
    chosen = [enqueue_one(store, org, payload={"n": 1}, job_id=job_id) for job_id in (LOW_ID, uuid4(), uuid4())]
    with store.ledger() as tx:
        ledger.cancel(tx, [own.pop()], "not meant", by=Origin())
    now = time_of(store)
    enqueue_one(store, org)
    enqueue_one(store, org, job_id=uuid4())
    wanted = JobFilter(org_id=org, states=(State.QUEUED,), since=since and now - since, job_types=("probe.run",))
    found = walked(store, BulkVerb.CANCEL, wanted, now, limit, most)
    assert sorted(found) == sorted([*own, *chosen])
    named = wanted.model_copy(update={"job_ids": (own[0], LOW_ID, uuid4())})
    assert walked(store, BulkVerb.CANCEL, named, now, limit, most) == [LOW_ID, own[0]]


@pytest.mark.parametrize(("limit", "most"), [(1, 1), (2, 3), (100, 100)])
def test_each_letter_is_met_once_and_filters_narrow(
    store: Database, org: UUID, database: Connection, limit: int, most: int
) -> None:
    other = make_org(database, "other")
    query = (
        "insert into dead_letters (org_id, job_id, job_type, queue, payload, payload_version, reason, error, plan)"
        " select o, uuidv7(), t, 'default', jsonb_build_object('a', jsonb_build_object('n', n)), 1, 'x',"
        " jsonb_build_object('code', 'c' || n), 'p'"
        " from unnest(%s::uuid[]) o, unnest(array['x.a', 'x.b']) t, generate_series(1, 3) n"
    )
    database.execute(query.encode(), ([org, other],))
    ids = [job_id for (job_id,) in database.execute("select job_id from dead_letters limit 3").fetchall()]
    now = time_of(store)
    database.execute(query.encode(), ([org],))

    def number(**narrow: object) -> int:
        wanted = JobFilter.model_validate({"states": ("dead",), **narrow})
        found = walked(store, BulkVerb.REPLAY, wanted, now, limit, most)
        assert len(set(found)) == len(found)
        return len(found)

    assert number() == 12
    assert number(org_id=org) == 6
    assert number(org_id=org, job_types=("x.a",)) == 3
    assert number(error_code="c2") == 4
    assert number(payload=("a.n=3",), job_types=("x.a", "x.b")) == 4
    assert number(payload=("a.n=4",)) == 0
    assert number(job_ids=[*ids, *ids[:1], uuid4()]) == 3
    assert number(since=now) == 0
    assert number(before=now - timedelta(days=1)) == 0
    assert number(since=now - timedelta(minutes=5), queue="default") == 12


CANCELED = """
insert into jobs (id, org_id, job_type, queue, payload, payload_version, idempotency_key, guarded, actor_type, actor_id,
  request_id, correlation_id, max_attempts, deadline, state, created_at, foreign_at, finished_at, cancel_reason)
select case when n %% 2 = 0 then uuidv7() else uuidv4() end, %s, 'probe.run', 'default', '{}', 1, 'k' || n, false,
  'system', 'x', 'r', 'c', 5, interval '5 minutes', 'canceled', at, case when n %% 2 = 1 then at end, at, 'not needed'
from (select n, now() - (n / 3) * interval '1 second' as at from generate_series(1, %s) n) as made
"""


@pytest.mark.parametrize("verb", [BulkVerb.RETRY, BulkVerb.CANCEL, BulkVerb.REPLAY])
def test_rows_of_other_orgs_use_up_no_look_at_an_org(
    store: Database, org: UUID, database: Connection, verb: BulkVerb
) -> None:
    make_job_type(store)
    other = make_org(database, "other")
    database.execute(CANCELED.encode(), (other, 50))
    letters = (
        "insert into dead_letters (org_id, job_id, job_type, queue, payload, payload_version, reason, error, plan)"
        " select %s, uuidv7(), 'x.a', 'default', '{}', 1, 'x', '{}', 'p' from generate_series(1, %s)"
    )
    for whose, number in ((other, 50), (org, 3)):
        database.execute(letters.encode(), (whose, number))
    for _ in range(3):
        enqueue_one(store, org)
    database.execute(CANCELED.encode(), (org, 3))
    wanted = JobFilter(org_id=org, states=tuple(verb.states))
    with store.ledger() as tx:
        now = ledger.read_time(tx)
        assert bulk_actions.count(tx, verb, wanted, now, most_looked_at=4) == (3, True)
        assert len(bulk_actions.match(tx, verb, wanted, Place.start(now), limit=9, most_looked_at=4).rows) == 3
        everywhere = wanted.model_copy(update={"org_id": None})
        if verb is not BulkVerb.CANCEL:
            assert bulk_actions.count(tx, verb, everywhere, now, most_looked_at=4)[1] is False


@pytest.mark.parametrize(("limit", "most"), [(1, 1), (2, 3), (3, 2), (100, 100)])
@pytest.mark.parametrize("since", [None, timedelta(hours=1)])
def test_each_canceled_job_of_an_org_is_met_once(
    store: Database, org: UUID, database: Connection, limit: int, most: int, since: timedelta | None
) -> None:
    make_job_type(store)
    for whose in (org, make_org(database, "other")):
        database.execute(CANCELED.encode(), (whose, 8))
    late = enqueue_one(store, org)
    now = time_of(store)
    with store.ledger() as tx:
        ledger.cancel(tx, [late], "later", by=Origin())
    wanted = JobFilter(org_id=org, states=(State.CANCELED,), since=since and now - since)
    found = walked(store, BulkVerb.RETRY, wanted, now, limit, most)
    assert (len(found), len(set(found)), late in found) == (8, 8, False)


def test_a_walk_goes_on_where_its_last_job_is_gone(store: Database, org: UUID, database: Connection) -> None:
    make_job_type(store)
    database.execute(CANCELED.encode(), (org, 3))
    wanted, now = JobFilter(org_id=org, states=(State.CANCELED,)), time_of(store)
    with store.ledger() as tx:
        first = bulk_actions.match(tx, BulkVerb.RETRY, wanted, Place.start(now), limit=1)
    database.execute("delete from jobs where id = %s", (first.after_id,))
    assert first.after_id is not None
    with store.ledger() as tx:
        rest = bulk_actions.match(tx, BulkVerb.RETRY, wanted, Place(first.after_id, now, now), limit=9)
    assert len(rest.rows) == 2


def test_what_came_into_its_state_later_is_not_meant(store: Database, org: UUID) -> None:
    make_job_type(store)
    early, late, ended = (enqueue_one(store, org, payload={"n": n}) for n in range(3))
    claim_one(store, early)
    now = time_of(store)
    claim_one(store, late)
    with store.ledger() as tx:
        ledger.cancel(tx, [ended], "later", by=Origin())

    def met(verb: BulkVerb, *states: State) -> list[UUID]:
        return walked(store, verb, JobFilter(states=states), now, 9, 100)

    assert met(BulkVerb.CANCEL, State.RUNNING) == [early]
    assert met(BulkVerb.CANCEL, State.RUNNING, State.QUEUED) == [early, late]
    assert met(BulkVerb.RETRY, State.CANCELED) == []
