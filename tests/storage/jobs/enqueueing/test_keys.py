"""A job's key: what it is made of, and what its row says of the job."""

import re
from datetime import timedelta
from uuid import UUID

import pytest
from psycopg import Connection

from domain.jobs.job import State
from storage.postgres.database import Database
from tests.doubles.factories import claim_one, enqueue_one, make_job_type, make_project, pass_time
from tests.storage.jobs.test_ledger import finish


@pytest.fixture(autouse=True)
def types(store: Database) -> None:
    make_job_type(store)
    make_job_type(store, "deadletter.quarantine", queue="deadletter")


def test_the_key_of_a_job_is_what_it_brings_or_what_makes_it_unique_or_its_id(
    store: Database, org: UUID, database: Connection
) -> None:
    make_job_type(store, "probe.unique", unique_mode="while_queued")
    plain, keyed = enqueue_one(store, org), enqueue_one(store, org, idempotency_key="import-7")
    unique = enqueue_one(store, org, "probe.unique")
    rows: dict[UUID, str] = dict(database.execute("select id, idempotency_key from jobs").fetchall())
    assert (rows[plain], rows[keyed]) == (str(plain), "import-7")
    assert re.fullmatch(rf"probe\.unique:{org}::[0-9a-f]{{64}}", rows[unique])


def test_the_key_of_a_projects_job_is_the_projects_own(store: Database, org: UUID, database: Connection) -> None:
    make_job_type(store, "probe.unique", unique_mode="while_queued")
    projects = [None, make_project(database, org), make_project(database, org)]
    made = [enqueue_one(store, org, "probe.unique", project_id=project) for project in projects]
    rows: dict[UUID, str] = dict(database.execute("select id, idempotency_key from jobs").fetchall())
    assert len(set(made)) == 3
    for job_id, project in zip(made, projects, strict=True):
        assert rows[job_id].startswith(f"probe.unique:{org}:{project or ''}:")
    assert enqueue_one(store, org, "probe.unique", project_id=projects[1]) == made[1]


@pytest.mark.parametrize("state", [State.SUCCEEDED, State.FAILED, State.DEAD])
def test_a_key_says_when_it_was_seen_and_how_its_job_ended(
    store: Database, org: UUID, database: Connection, state: State
) -> None:
    make_job_type(store, "probe.unique", unique_mode="while_active")
    made = enqueue_one(store, org, "probe.unique")
    job = claim_one(store, made)
    pass_time(database, timedelta(minutes=5))
    finish(store, made, job.token, state)
    query = "select status, last_seen_at - first_seen_at, result_ref, error_ref - 'at' from idempotency_keys"
    ((status, between, result, error),) = database.execute(query).fetchall()
    assert (status, between >= timedelta(minutes=5)) == (state, True)
    is_good = state is State.SUCCEEDED
    assert (result, error) == (({"job_id": str(made)}, None) if is_good else (None, {"code": "x", "reason": "x"}))
