"""One job enqueued alone gets the rows, the answer and the refusal that it would get in a batch."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

from hypothesis import given, settings
from hypothesis import strategies as st
from psycopg import Connection

from domain.jobs.failures import Failure
from domain.jobs.gate_causes import Cause
from domain.jobs.job import ActorType, Enqueued, NewJob, Origin
from storage.jobs import gates, ledger
from storage.jobs.gates import Gate
from storage.jobs.requests import as_requests
from storage.postgres.database import Database, Transaction
from tests.doubles.factories import make_job_type, make_project

TABLES = {
    "jobs": ("id", "{}"),
    "idempotency_keys": ("org_id, key", "{last_seen_at}"),
    "audit_entries": ("id", "{id,at,began_at}"),
    "orgs_over_burst": ("queue, org_id", "{}"),
}
"""What an enqueue writes: the order to compare its rows in, and the columns that differ by nature."""

IDS = [UUID(int=n << 96) for n in (1, 2)]
SHAPE = {
    "closed": True,
    "fields": {
        "account_id": {"types": ["string"], "spelling": "uuid", "required": True},
        "again": {"types": ["boolean"], "default": False},
    },
    "others": {},
}
TIMES = st.none() | st.sampled_from([datetime(2020, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)])
CREATED = st.none() | st.just(datetime(2020, 1, 1, tzinfo=UTC))
"""What a service may say: a time to come becomes that of the insert, which differs (test_created_at.py)."""
WORDS = st.none() | st.sampled_from(["a", "b"])

PAYLOADS = st.fixed_dictionaries(
    {"account_id": st.sampled_from([str(IDS[0]), IDS[0].hex, str(IDS[1])])},
    optional={"again": st.booleans()},
)
ORIGINS = st.builds(Origin, st.just(ActorType.USER), st.sampled_from(["ann", "bob"]), WORDS, WORDS, WORDS)
JOBS = st.builds(
    NewJob,
    job_type=st.sampled_from(["one.plain", "one.unique", "one.by_field", "one.alias"]),
    org_id=st.sampled_from(IDS),
    payload=PAYLOADS,
    payload_version=st.sampled_from([None, 1]),
    job_id=st.sampled_from(IDS) | st.uuids(version=4),
    project_id=st.none() | st.sampled_from(IDS),
    origin=ORIGINS | st.just(Origin()),
    idempotency_key=WORDS,
    run_at=TIMES,
    expires_at=TIMES,
    priority=st.sampled_from([0, 0, 5]),
    max_attempts=st.sampled_from([None, None, 1, 7]),
    retry_base_s=st.sampled_from([None, None, 1, 60]),
    retry_cap_s=st.sampled_from([None, None, 1, 86_400]),
    parent_id=st.none() | st.sampled_from(IDS),
    replay_of=st.none() | st.sampled_from(IDS),
    created_at=CREATED,
    is_checked=st.booleans(),
    folds=st.booleans(),
)
ODD = st.sampled_from(
    [
        {"job_type": "one.unknown"},
        {"org_id": UUID(int=7)},
        {"payload": {"account_id": "nobody"}},
        {"payload": {"account_id": str(IDS[0]), "more": 1}},
        {"payload_version": 2},
        {"idempotency_key": ""},
        {"idempotency_key": "x" * 500},
        {"priority": 101},
        {"max_attempts": 0},
        {"retry_base_s": 0},
        {"retry_cap_s": 2**40},
    ]
)
JOBS_AND_ODD_ONES = st.one_of(JOBS, JOBS, JOBS, st.builds(lambda job, odd: job._replace(**odd), JOBS, ODD))

Way = Callable[[Transaction, NewJob], Enqueued]


def alone(tx: Transaction, job: NewJob, *, publisher: bool) -> Enqueued:
    return ledger.enqueue(tx, [job], publisher=publisher, hint_timeout=timedelta(seconds=9), burst=1)[0]


def batched(tx: Transaction, job: NewJob, *, publisher: bool) -> Enqueued:
    asked = as_requests([job])
    return ledger.enqueue_requests(tx, asked, publisher=publisher, hint_timeout=timedelta(seconds=9), burst=1)[0]


def outcome(tx: Transaction, way: Way, jobs: Sequence[NewJob]) -> list[Any]:
    """The answers or the refusal, and all rows; then everything is undone."""
    tx.raw("savepoint before")
    said: list[Any] = []
    try:
        said += [way(tx, job) for job in jobs]
        for table, (order, differing) in TABLES.items():
            rows = tx.raw(f"select to_jsonb(t) - '{differing}'::text[] as row from {table} t order by {order}")
            said += [row.row for row in rows]
    except Failure as refused:
        # Of several mistakes either may be said first; tests/engine/test_entry_points.py compares the words for each.
        said.append(type(refused))
    finally:
        tx.raw("rollback to savepoint before")
    return said


def test_one_alone_is_as_one_in_a_batch(store: Database, database: Connection) -> None:
    for org in IDS:
        database.execute("insert into orgs (id, name) values (%s, 'an org')", (org,))
        make_project(database, org, project_id=org)
    make_job_type(store, "one.plain", payload_shape=SHAPE, aliases=("one.alias",))
    make_job_type(store, "one.unique", payload_shape=SHAPE, unique_mode="while_active", serial_field="account_id")
    make_job_type(
        store,
        "one.by_field",
        queue="notifications",
        payload_shape=SHAPE,
        unique_mode="while_queued",
        unique_fields=("account_id", "again"),
    )
    database.execute("insert into orgs_over_burst (queue, org_id) values ('notifications', %s)", (IDS[0],))
    with store.ledger() as tx:
        gates.close(tx, Gate("account", str(IDS[1]), "a test", None, "ann", Cause.PAUSE))

    @settings(max_examples=200, deadline=None)
    @given(jobs=st.lists(JOBS_AND_ODD_ONES, min_size=1, max_size=3), publisher=st.booleans())
    def check(jobs: list[NewJob], publisher: bool) -> None:
        with store.ledger() as tx:
            one, many = (outcome(tx, partial(way, publisher=publisher), jobs) for way in (alone, batched))
            assert one == many

    check()
