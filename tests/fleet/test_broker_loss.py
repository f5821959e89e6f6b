"""The broker may lose everything or be away: no job is lost, and none runs twice (P1)."""

import redis

from sandbox.valkey_server import ValkeyServer
from tests.fleet.fleet import Fleet
from tests.probe_jobs import Nothing, Visit, noop, visit


def test_a_flushed_broker_with_200_queued_jobs_loses_none(
    fleet_with_own_broker: Fleet, own_valkey: ValkeyServer
) -> None:
    fleet = fleet_with_own_broker
    worker = fleet.worker(POSTROOM_HINT_PATIENCE_S="300")
    worker.ready()
    fleet.wait_for_end([fleet.enqueue(noop, Nothing())])
    worker.freeze()
    # Few at a time: each call stays under its burst and publishes at once, while the relay is frozen with its worker.
    jobs = [noop.new(Nothing(), org_id=fleet.org) for _ in range(200)]
    job_ids = [job_id for start in range(0, 200, 20) for job_id in fleet.enqueue_many(jobs[start : start + 20])]
    with redis.Redis.from_url(own_valkey.url()) as broker:
        assert broker.llen("default") >= 190
        broker.flushall()
    worker.thaw()
    # With a patience of 300 s only the missing epoch can have brought the hints back.
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
    running = [fleet.enqueue(visit, Visit(gate="later")) for _ in range(2)]
    fleet.wait_for_line("waits", times=2)
    before = fleet.enqueue_many([noop.new(Nothing(), org_id=fleet.org) for _ in range(50)])
    own_valkey.stop()
    during = fleet.enqueue_many([noop.new(Nothing(), org_id=fleet.org) for _ in range(50)])
    fleet.outside.open_gate("later")
    assert fleet.wait_for_end(running) == {"succeeded": 2}
    own_valkey.start()
    assert fleet.wait_for_end([*before, *during], within=60) == {"succeeded": 100}
    after = fleet.enqueue(noop, Nothing())
    assert fleet.wait_for_end([after]) == {"succeeded": 1}
    assert all(worker.alive for worker in workers)
    fleet.check()
