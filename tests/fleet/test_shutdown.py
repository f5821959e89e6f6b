"""Workers that are asked to stop: short jobs end, long ones are returned, and no attempt is counted."""

import pytest

from tests.doubles.probe_jobs import LoopBreaker, Stepping, Visit
from tests.fleet.fleet import Fleet
from tests.waiting import eventually

POOLS = pytest.mark.parametrize("pool", ["threads", "prefork"])


@POOLS
def test_a_warm_shutdown_lets_short_jobs_end_and_stops_long_ones_at_a_step(fleet: Fleet, pool: str) -> None:
    worker = fleet.worker("leaver", pool=pool)
    worker.ready()
    short = fleet.enqueue(Visit(gate="go"))
    stepped = fleet.enqueue(Stepping(gate="go"))
    fleet.wait_for_line("waits", times=2)
    worker.kill("SIGTERM")
    worker.wait_for_log("Warm shutdown")
    fleet.outside.open_gate("go")
    eventually(lambda: not worker.alive, within=20, describe="the end of the worker")
    assert fleet.states([short, stepped]) == {"succeeded": 1, "queued": 1}
    assert fleet.ask("select attempt, losses from jobs where id = %s", stepped) == [(0, 0)]
    fleet.worker("heir").ready()
    assert fleet.wait_for_end([stepped]) == {"succeeded": 1}
    assert fleet.events(stepped) == ["enqueued", "started", "retried", "started", "succeeded"]
    assert fleet.causes(stepped) == ["shutdown"]
    # The first two steps were not run again.
    assert [line[1] for line in fleet.outside.lines("step")] == ["first", "second", "third"]
    fleet.check()


@POOLS
def test_a_soft_shutdown_gives_back_what_outlasts_the_grace(fleet: Fleet, pool: str) -> None:
    worker = fleet.worker("leaver", pool=pool, POSTROOM_SHUTDOWN_GRACE_S="1", POSTROOM_LEASE_S="60")
    worker.ready()
    endless = [fleet.enqueue(Visit(gate="never", account_id=str(n))) for n in range(2)]
    fleet.wait_for_line("waits", times=2)
    worker.kill("SIGQUIT")
    eventually(lambda: not worker.alive, within=15, describe="the end of the worker")
    assert fleet.states(endless) == {"queued": 2}
    assert fleet.ask("select distinct attempt, losses from jobs") == [(0, 0)]
    fleet.worker("heir").ready()
    assert fleet.wait_for_end(endless) == {"succeeded": 2}
    for job_id in endless:
        assert fleet.causes(job_id) == ["shutdown"]
    fleet.check()


@POOLS
def test_a_soft_shutdown_lets_jobs_end_within_the_grace_and_waits_no_longer_than_they_need(
    fleet: Fleet, pool: str
) -> None:
    worker = fleet.worker("leaver", pool=pool, POSTROOM_SHUTDOWN_GRACE_S="60")
    worker.ready()
    job_id = fleet.enqueue(Visit(gate="go"))
    fleet.wait_for_line("waits")
    worker.kill("SIGQUIT")
    worker.wait_for_log("Hitting Ctrl+C again")
    fleet.outside.open_gate("go")
    eventually(lambda: not worker.alive, within=20, describe="the end of the worker, long before the grace")
    assert fleet.states([job_id]) == {"succeeded": 1}
    fleet.check()


@POOLS
def test_a_second_signal_ends_the_grace(fleet: Fleet, pool: str) -> None:
    worker = fleet.worker("leaver", pool=pool, POSTROOM_SHUTDOWN_GRACE_S="60", POSTROOM_LEASE_S="60")
    worker.ready()
    endless = fleet.enqueue(Visit(gate="never"))
    fleet.wait_for_line("waits")
    worker.kill("SIGQUIT")
    worker.wait_for_log("Hitting Ctrl+C again")
    worker.kill("SIGQUIT")
    eventually(lambda: not worker.alive, within=20, describe="the end of the worker, long before the grace")
    assert fleet.states([endless]) == {"queued": 1}
    assert fleet.causes(endless) == ["shutdown"]


def test_a_worker_whose_event_loop_broke_ends_within_the_grace_and_gives_back_its_jobs(fleet: Fleet) -> None:
    worker = fleet.worker("leaver", POSTROOM_SHUTDOWN_GRACE_S="1", POSTROOM_LEASE_S="60")
    worker.ready()
    endless = fleet.enqueue(Visit(gate="never"))
    fleet.wait_for_line("waits")
    fleet.enqueue(LoopBreaker())
    eventually(lambda: not worker.alive, within=15, describe="the end of the worker")
    assert fleet.states([endless]) == {"queued": 1}
    assert fleet.causes(endless) == ["shutdown"]
    fleet.worker("heir").ready()
    assert fleet.wait_for_end([endless]) == {"succeeded": 1}


def test_a_worker_that_cannot_give_its_jobs_back_ends_all_the_same(fleet: Fleet) -> None:
    """A thread that never ends would keep the process running, and so renew its lease, without end."""
    worker = fleet.worker("leaver", POSTROOM_SHUTDOWN_GRACE_S="1", POSTROOM_LEASE_S="60")
    worker.ready()
    endless = fleet.enqueue(Visit(gate="never"))
    fleet.wait_for_line("waits")
    fleet.wait_for_starts([endless])
    fleet.ask("alter table workers rename column node_id to node")
    worker.kill("SIGQUIT")
    eventually(lambda: not worker.alive, within=15, describe="the end of the worker")
    worker.wait_for_log("claims_not_returned")
    assert fleet.states([endless]) == {"running": 1}
