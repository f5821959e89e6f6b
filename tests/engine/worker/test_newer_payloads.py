"""A job whose payload is newer than its worker knows: given back for a while, and refused in the end."""

from collections.abc import Iterator

import pytest
from psycopg import Connection

from domain.jobs.newer_payloads import MOST_RETURNS
from domain.jobs.scheduling.backlog_demand import BacklogKey
from engine.broker.hints import demand_message
from engine.runtime import Runtime
from settings import Settings
from tests.doubles.factories import make_job_type, make_org
from tests.engine.worker.test_loop import Broker, fill, make_loop
from tests.engine.worker.test_lost_answers import run_process


@pytest.fixture
def process(settings: Settings) -> Iterator[Runtime]:
    with run_process(settings) as running:
        yield running


def test_a_job_of_a_newer_payload_is_left_to_a_newer_worker(process: Runtime, database: Connection) -> None:
    org, (loop, consumer) = make_org(database), make_loop(process)
    make_job_type(process.database, "probe_jobs.noop", payload_version=2)
    fill(process, org, 1, version=2)
    loop.received(Broker().message(demand_message({BacklogKey("default", 0, org): 1})))
    loop.turn()
    loop.turn()
    waits = "select state, attempt, free_returns, run_at > now() + interval '20 seconds' from jobs"
    assert database.execute(waits).fetchall() == [("queued", 0, 1, True)]
    assert consumer.pool.jobs == []
    cause = "select data ->> 'cause' from audit_log where event = 'job.retried'"
    assert database.execute(cause).fetchall() == [("newer payload",)]


def test_a_job_that_no_worker_can_read_is_refused_in_the_end(process: Runtime, database: Connection) -> None:
    org, (loop, consumer) = make_org(database), make_loop(process)
    make_job_type(process.database, "probe_jobs.noop", payload_version=2)
    job_ids = fill(process, org, 1, version=2)
    database.execute("update jobs set free_returns = %s", (MOST_RETURNS,))
    loop.received(Broker().message(demand_message({BacklogKey("default", 0, org): 1})))
    loop.turn()
    assert consumer.pool.jobs == job_ids
