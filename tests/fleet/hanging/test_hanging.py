"""Handlers that hang: the worker says so, gives back its claims and ends; a signal to stop always ends it."""

import psycopg

from engine.worker.watchdog import EX_STUCK
from tests.doubles.factories import make_org
from tests.doubles.probe_jobs import Asking, LoopBreaker, Noop, Overdue, Visit
from tests.fleet.fleet import Fleet, wait_until_ready
from tests.providers.wire import Wire, trickle
from tests.waiting import eventually

POOLS = ("threads", "prefork")
LONG_LEASE = {"POSTROOM_LEASE_S": "60"}


def test_workers_that_stand_still_or_whose_slots_hang_end_and_another_does_their_work(fleet: Fleet) -> None:
    """Both at once, for each takes most of a minute. The first to hang takes no job of the second: its loop stands."""
    still = fleet.worker("still", concurrency=2, settings=LONG_LEASE)
    still.ready()
    held = fleet.enqueue(Visit(gate="never"))
    fleet.wait_for_line("waits")
    blocker = fleet.enqueue(LoopBreaker(word="never"))
    eventually(lambda: fleet.states([blocker]) != {"queued": 1}, within=30, describe="the claim of the blocker")
    hanging = fleet.worker("hanging", concurrency=2, settings=LONG_LEASE)
    hanging.ready()
    hung = [fleet.enqueue(Overdue(gate="never", account_id=str(n))) for n in range(2)]
    fleet.wait_for_line("waits", times=3)
    eventually(lambda: not still.alive, within=90, describe="the end of the worker whose loop stands still")
    assert still.exit_status == EX_STUCK
    assert '"event": "loop_stands_still"' in still.logs()
    assert "outside.py:wait_at" in still.logs()  # where it hung
    # Its loop settled nothing more; long before the lease ends, both jobs are free for others.
    assert fleet.states([held, blocker]) == {"queued": 2}
    eventually(lambda: not hanging.alive, within=90, describe="the end of the worker whose slots hang")
    assert hanging.exit_status == EX_STUCK
    assert "slots are held by jobs that are past their deadlines" in hanging.logs()
    fleet.outside.open_gate("never")
    fleet.worker("heir").ready()
    assert fleet.wait_for_end([held, blocker]) == {"succeeded": 2}
    assert sum(fleet.wait_for_end([*hung, fleet.enqueue(Noop())]).values()) == 3
    fleet.check()


def test_sigterm_ends_workers_whose_handlers_hang_within_their_grace(fleet: Fleet) -> None:
    workers = [fleet.worker(pool, pool=pool, settings=LONG_LEASE, POSTROOM_SHUTDOWN_GRACE_S="1") for pool in POOLS]
    wait_until_ready(*workers)
    hung = [fleet.enqueue(Visit(gate="never", account_id=str(n))) for n in range(4)]
    fleet.wait_for_line("waits", times=4)  # so all slots of both
    children = [worker.children for worker in workers]
    assert [bool(of_one) for of_one in children] == [False, True]
    for worker in workers:
        worker.kill("SIGTERM")
    eventually(lambda: not any(worker.alive for worker in workers), within=15, describe="the end of the workers")
    eventually(
        lambda: not any(child.is_running() for child in children[1]),
        within=5,
        describe="the end of the hanging children",
    )
    assert fleet.states(hung) == {"queued": 4}
    assert fleet.ask("select distinct attempt, losses from jobs") == [(0, 0)]
    fleet.outside.open_gate("never")
    fleet.worker("heir").ready()
    assert fleet.wait_for_end(hung) == {"succeeded": 4}
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
