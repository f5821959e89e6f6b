"""Handlers that hang: the worker says so, gives back its claims and ends; a signal to stop always ends it."""

import psycopg
import pytest

from engine.worker.watchdog import EX_STUCK
from tests.doubles.factories import make_org
from tests.doubles.probe_jobs import Asking, LoopBreaker, Noop, Overdue, Visit
from tests.fleet.fleet import Fleet
from tests.providers.wire import Wire, trickle
from tests.waiting import eventually

POOLS = pytest.mark.parametrize("pool", ["threads", "prefork"])
LONG_LEASE = {"POSTROOM_LEASE_S": "60", "POSTROOM_HEARTBEAT_S": "15"}


def test_a_worker_whose_slots_hang_ends_with_a_status_of_its_own_and_another_does_its_work(fleet: Fleet) -> None:
    worker = fleet.worker("hanging", concurrency=2, settings=LONG_LEASE)
    worker.ready()
    hung = [fleet.enqueue(Overdue(gate="never", account_id=str(n))) for n in range(2)]
    fleet.wait_for_line("waits", times=2)
    eventually(lambda: not worker.alive, within=90, describe="the end of the worker")
    assert worker.exit_status == EX_STUCK
    assert "slots are held by jobs that are past their deadlines" in worker.logs()
    fleet.outside.open_gate("never")
    fleet.worker("heir").ready()
    assert sum(fleet.wait_for_end([*hung, fleet.enqueue(Noop())]).values()) == 3
    fleet.check()


@POOLS
def test_sigterm_ends_a_worker_whose_handlers_hang_within_its_grace(fleet: Fleet, pool: str) -> None:
    worker = fleet.worker("hanging", pool=pool, settings=LONG_LEASE, POSTROOM_SHUTDOWN_GRACE_S="1")
    worker.ready()
    hung = [fleet.enqueue(Visit(gate="never", account_id=str(n))) for n in range(2)]
    fleet.wait_for_line("waits", times=2)
    children = worker.children
    assert bool(children) is (pool == "prefork")
    worker.kill("SIGTERM")
    eventually(lambda: not worker.alive, within=15, describe="the end of the worker")
    eventually(
        lambda: not any(child.is_running() for child in children), within=5, describe="the end of the hanging children"
    )
    assert fleet.states(hung) == {"queued": 2}
    assert fleet.ask("select distinct attempt, losses from jobs") == [(0, 0)]
    fleet.outside.open_gate("never")
    fleet.worker("heir").ready()
    assert fleet.wait_for_end(hung) == {"succeeded": 2}
    fleet.check()


def test_a_worker_whose_loop_stands_still_says_so_gives_back_its_claims_and_ends(fleet: Fleet) -> None:
    worker = fleet.worker("still", concurrency=2, settings=LONG_LEASE)
    worker.ready()
    held = fleet.enqueue(Visit(gate="never"))
    fleet.wait_for_line("waits")
    blocker = fleet.enqueue(LoopBreaker(word="never"))
    eventually(lambda: not worker.alive, within=90, describe="the end of the worker")
    assert worker.exit_status == EX_STUCK
    assert '"event": "loop_stands_still"' in worker.logs()
    assert "probe_outside.py:wait_at" in worker.logs()  # where it hung
    # Its loop settled nothing more; long before the lease ends, both jobs are free for others.
    assert fleet.states([held, blocker]) == {"queued": 2}
    fleet.outside.open_gate("never")
    fleet.worker("heir").ready()
    assert fleet.wait_for_end([held, blocker]) == {"succeeded": 2}
    fleet.check()


def test_a_provider_that_trickles_on_every_slot_delays_others_by_its_time_limit_at_most(fleet: Fleet) -> None:
    with Wire(trickle(0.2)) as wire:
        provider = {"POSTROOM_ANTHROPIC_BASE_URL": wire.url, "POSTROOM_ANTHROPIC_API_KEY": "key"}
        fleet.worker(concurrency=2, settings=provider, POSTROOM_ANTHROPIC_TIMEOUT_S="3").ready()
        slow = [fleet.enqueue(Asking(account_id=str(n))) for n in range(2)]
        eventually(lambda: len(wire.seen) >= 2, within=30, describe="a call in every slot")
        with psycopg.connect(fleet.database_url, autocommit=True) as owner:
            other = make_org(owner, "another org")
        (quick,) = fleet.enqueue_many([Noop().job(org_id=other)])
        assert fleet.wait_for_end([quick], within=3 + 30) == {"succeeded": 1}
        assert sum(fleet.wait_for_end(slow, within=60).values()) == 2
