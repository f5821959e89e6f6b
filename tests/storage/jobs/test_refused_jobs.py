"""What the ledger does not take, and by which field it says so."""

import json
import re
from datetime import datetime, timedelta, timezone
from itertools import product
from math import inf
from uuid import UUID

import pytest
from psycopg import Connection, Error
from psycopg.errors import CheckViolation
from psycopg.types.json import Jsonb

from domain.jobs.failures import Invalid
from domain.jobs.job import NewJob, State
from storage.jobs import ledger
from storage.postgres.database import Database
from tests.doubles.factories import HINT_TIMEOUT, claim_one, enqueue_one, make_job_type, make_org


@pytest.fixture
def org(database: Connection, store: Database) -> UUID:
    make_job_type(store)
    return make_org(database)


def test_unknown_types_and_secrets_are_refused_with_their_field(store: Database, org: UUID) -> None:
    with store.ledger() as tx, pytest.raises(Invalid, match=r"job_type: nobody\.knows "):
        ledger.enqueue(tx, [NewJob("nobody.knows", org, {})], publisher=True, hint_timeout=HINT_TIMEOUT)
    secret = NewJob("probe.run", org, {"deep": [{"Access_Token": "x"}]})
    with store.ledger() as tx, pytest.raises(Invalid, match=r"payload\.Access_Token: "):
        ledger.enqueue(tx, [secret], publisher=True, hint_timeout=HINT_TIMEOUT)


def test_a_changed_payload_is_searched_for_secrets_too(store: Database, org: UUID, database: Connection) -> None:
    job_id = enqueue_one(store, org)
    with pytest.raises(Error, match=r"payload\.password: "):
        database.execute("update jobs set payload = %s where id = %s", (Jsonb({"password": "x"}), job_id))


def nested(levels: int) -> str:
    """A JSON object with so many others in it, one in the other."""
    return '{"a":' * levels + "{}" + "}" * levels


def test_a_payload_as_deep_as_may_be_is_claimed(store: Database, org: UUID, database: Connection) -> None:
    row = database.execute("select postroom.enqueue('probe.run', %s, %s)", (org, nested(64))).fetchone()
    assert row is not None
    assert claim_one(store, row[0]).payload == json.loads(nested(64))


def test_a_payload_that_no_worker_could_read_is_refused(store: Database, org: UUID, database: Connection) -> None:
    with pytest.raises(Error, match=r"payload: .*64"):
        database.execute("select postroom.enqueue('probe.run', %s, %s)", (org, nested(3000)))
    for levels in (65, 900):
        job = NewJob("probe.run", org, json.loads(nested(levels)))
        with store.ledger() as tx, pytest.raises(Invalid, match="payload: "):
            ledger.enqueue(tx, [job], publisher=True, hint_timeout=HINT_TIMEOUT)
    endless: dict[str, object] = {}
    for _ in range(5000):
        endless = {"a": endless}
    with store.ledger() as tx, pytest.raises(Invalid, match="payload: nests too deep"):
        ledger.enqueue(tx, [NewJob("probe.run", org, endless)], publisher=True, hint_timeout=HINT_TIMEOUT)


@pytest.mark.parametrize(
    "value", [{1, 2}, b"x", {(1, 2): 3}, float("nan"), float("-inf"), 10**5000], ids=lambda value: type(value).__name__
)
@pytest.mark.parametrize("count", [1, 2])
def test_a_payload_that_is_no_json_is_refused_by_its_field(
    store: Database, org: UUID, value: object, count: int
) -> None:
    jobs = [NewJob("probe.run", org, {"a": value})] * count
    with store.ledger() as tx, pytest.raises(Invalid, match="payload: "):
        ledger.enqueue(tx, jobs, publisher=True, hint_timeout=HINT_TIMEOUT)


@pytest.mark.parametrize(
    ("field", "at"),
    [
        *product(["run_at", "expires_at"], ["-infinity", "infinity", "20000-01-01", "0044-03-15 BC"]),
        # A later one than the present is the present (0034_job_times).
        *product(["created_at"], ["-infinity", "0044-03-15 BC"]),
    ],
)
def test_a_time_that_python_cannot_read_is_refused_by_the_name_of_its_field(
    org: UUID, database: Connection, field: str, at: str
) -> None:
    request = Jsonb([{"job_type": "probe.run", "org_id": str(org), field: at}])
    with pytest.raises(CheckViolation, match=f"{field}_check"):
        database.execute("select postroom.enqueue_jobs(%s)", (request,))


@pytest.mark.parametrize(
    ("at", "reason"),
    [
        (datetime(2026, 11, 23), "run_at: has no time zone"),  # noqa: DTZ001 - what is refused
        (datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14))), "run_at: is too far from the present"),
    ],
    ids=["no zone", "a year before the first"],
)
def test_a_time_that_says_nothing_definite_is_refused(store: Database, org: UUID, at: datetime, reason: str) -> None:
    with store.ledger() as tx, pytest.raises(Invalid, match=reason):
        ledger.enqueue(tx, [NewJob("probe.run", org, {}, run_at=at)], publisher=True, hint_timeout=HINT_TIMEOUT)


@pytest.mark.parametrize(("number", "read"), [("1e5000", inf), ("-1e5000", -inf), ("1e400", 10**400), ("1e3", 1000)])
def test_a_number_of_any_size_can_be_claimed(
    store: Database, org: UUID, database: Connection, number: str, read: float
) -> None:
    row = database.execute("select postroom.enqueue('probe.run', %s, %s)", (org, f'{{"n": {number}}}')).fetchone()
    assert row is not None
    assert claim_one(store, row[0]).payload == {"n": read}


@pytest.mark.parametrize("field", ["actor_id", "request_id", "correlation_id", "idempotency_key"])
def test_a_value_that_is_too_long_is_refused_by_the_name_of_its_field(
    org: UUID, database: Connection, field: str
) -> None:
    with pytest.raises(Error, match=f"{field}: "):
        database.execute(
            f"select postroom.enqueue(job_type => 'probe.run', org_id => %s, {field} => %s)",  # our own words
            (org, "x" * 401),
        )


def test_the_table_of_jobs_takes_the_states_of_the_ledger_and_no_other(
    store: Database, org: UUID, database: Connection
) -> None:
    job_id = enqueue_one(store, org)
    for state in ("pending", "complete", "", "QUEUED"):
        with pytest.raises(CheckViolation, match="jobs_state_check"):
            database.execute("update jobs set state = %s where id = %s", (state, job_id))
    definition = "select pg_get_constraintdef(oid) from pg_constraint where conname = 'jobs_state_check'"
    (said,) = database.execute(definition).fetchone() or ("",)
    assert set(re.findall(r"'(\w+)'", said)) == {state.value for state in State}
