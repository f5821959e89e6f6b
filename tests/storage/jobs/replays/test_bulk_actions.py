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
from tests.doubles.factories import enqueue_one, make_job_type, make_org

LOW_ID = UUID("00000001-0000-4000-8000-000000000000")
"""As a client may choose one: before all ids that the ledger makes."""


def walked(store: Database, verb: BulkVerb, wanted: JobFilter, now: datetime, limit: int, most: int) -> list[UUID]:
    found: list[UUID] = []
    place = Place.start(now)
    with store.ledger() as tx:
        while True:
            part = bulk_actions.match(tx, verb, wanted, place, limit=limit, most_looked_at=most)
            found += [one.subject_id for one in part.subjects]
            if part.after_id is None:
                counted = bulk_actions.count(tx, verb, wanted, now)
                assert counted == (len(found), True)
                return found
            assert part.after_id > place.after_id, "a walk goes on"
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
