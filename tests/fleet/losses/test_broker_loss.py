"""The broker loses its data or is away: no job is lost, and none runs twice (P1)."""

import json
from uuid import UUID

import psycopg
import pytest
import redis
from celery import Celery

from engine.broker.hints import read_message
from sandbox.servers.valkey_server import ValkeyServer
from tests.doubles.probe_jobs import Noop, Visit
from tests.fleet.fleet import Fleet
from tests.fleet.test_producers import contract
from tests.waiting import eventually


def test_a_flushed_broker_with_200_queued_jobs_loses_none(
    fleet_with_own_broker: Fleet, own_valkey: ValkeyServer
) -> None:
    fleet = fleet_with_own_broker
    worker = fleet.worker(POSTROOM_HINT_TIMEOUT_S="300")
    worker.ready()
    fleet.wait_for_end([fleet.enqueue(Noop())])
    worker.freeze()
    # Few at a time: each call stays under its burst and publishes at once, while the relay is frozen with its worker.
    jobs = [Noop().job(org_id=fleet.org) for _ in range(200)]
    job_ids = [job_id for start in range(0, 200, 20) for job_id in fleet.enqueue_many(jobs[start : start + 20])]
    with redis.Redis.from_url(own_valkey.url()) as broker:
        headers = [json.loads(message)["headers"] for message in broker.lrange("default", 0, -1)]
        assert sum(len(read_message("default", each).named) for each in headers) >= 180, "one message is the worker's"
        broker.flushall()
    worker.thaw()
    # With a hint timeout of 300 s only the missing epoch can have made the relay publish again.
    assert fleet.wait_for_end(job_ids) == {"succeeded": 200}
    assert worker.alive
    fleet.check()


def test_a_broker_that_stops_and_comes_back_empty_loses_nothing(
    fleet_with_own_broker: Fleet, own_valkey: ValkeyServer
) -> None:
    fleet = fleet_with_own_broker
    workers = [fleet.worker("one"), fleet.worker("two", pool="prefork")]
    for worker in workers:
        worker.ready()
    running = [fleet.enqueue(Visit(gate="later")) for _ in range(2)]
    fleet.wait_for_line("waits", times=2)
    before = fleet.enqueue_many([Noop().job(org_id=fleet.org) for _ in range(50)])
    own_valkey.stop()
    during = fleet.enqueue_many([Noop().job(org_id=fleet.org) for _ in range(50)])
    fleet.outside.open_gate("later")
    assert fleet.wait_for_end(running) == {"succeeded": 2}
    own_valkey.start()
    assert fleet.wait_for_end([*before, *during], within=60) == {"succeeded": 100}
    after = fleet.enqueue(Noop())
    assert fleet.wait_for_end([after]) == {"succeeded": 1}
    assert all(worker.alive for worker in workers)
    fleet.check()


@pytest.mark.parametrize("pool", ["threads", "prefork"])
def test_a_worker_outlives_a_connection_that_is_lost_while_a_foreign_job_is_adopted(
    fleet_with_own_broker: Fleet, own_valkey: ValkeyServer, pool: str
) -> None:
    fleet = fleet_with_own_broker
    worker = fleet.worker(pool=pool)
    worker.ready()
    fleet.wait_for_end([fleet.enqueue(Noop())])
    sent = contract(fleet.org)
    # The relay's statements wait for the table too.
    waiting = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and query ~ 'enqueue_job'"
    with psycopg.connect(fleet.database_url) as other:
        other.execute("lock table jobs in share row exclusive mode")
        with Celery("foreign", broker=fleet.broker_url) as foreign:
            foreign.send_task("probe_jobs.noop", kwargs=sent, queue="default")
        eventually(lambda: fleet.ask(waiting) != [(0,)], within=30, describe="the job to be taken in")
        with redis.Redis.from_url(own_valkey.url()) as broker:
            broker.client_kill_filter(_type="normal", skipme=True)
            eventually(
                lambda: "blmpop" in {client["cmd"] for client in broker.client_list()},
                within=30,
                describe="the worker to be connected again",
            )
    # Its message is acknowledged only now, on a connection that is closed.
    assert fleet.wait_for_end([UUID(sent["job_id"])]) == {"succeeded": 1}
    assert fleet.wait_for_end([fleet.enqueue(Noop())]) == {"succeeded": 1}
    assert worker.alive
    fleet.check()
