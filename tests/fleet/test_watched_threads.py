"""A thread that a worker needs (lease, relay): when it ends, the worker ends and returns its jobs."""

import pytest

from tests.doubles.probe_jobs import Visit
from tests.fleet.fleet import Fleet
from tests.waiting import eventually


@pytest.mark.parametrize("pool", ["threads", "prefork"])
def test_a_worker_whose_threads_end_ends_and_loses_nothing(fleet: Fleet, pool: str) -> None:
    worker = fleet.worker("leaver", pool=pool, POSTROOM_SHUTDOWN_GRACE_S="1")
    worker.ready()
    held = fleet.enqueue(Visit(gate="never"))
    fleet.wait_for_line("waits")
    # As an unknown migration would: an error that is no `Failure` and does not pass.
    fleet.ask("alter table workers rename column lease_until to valid_until")
    eventually(lambda: not worker.alive, within=30, describe="the end of the worker")
    assert "thread_died" in worker.logs()
    assert '"reason": "thread ended: ' in worker.logs()
    fleet.ask("alter table workers rename column valid_until to lease_until")
    fleet.outside.open_gate("never")
    fleet.worker("heir").ready()
    assert fleet.wait_for_end([held]) == {"succeeded": 1}
    fleet.check()
