"""Processes that die: their jobs go on elsewhere, external effects happen once, and poison ends (P1, P3, P8)."""

import os
import signal
import time

import psutil
import pytest

from tests.doubles.probe_jobs import Ending, Perilous, Visit
from tests.fleet.fleet import Fleet
from tests.invariants import check_calls
from tests.waiting import eventually

KILLS = 10


@pytest.mark.parametrize("pool", ["threads", "prefork"])
def test_a_killed_workers_jobs_are_finished_by_another(fleet: Fleet, pool: str) -> None:
    killed = fleet.worker("killed", pool=pool)
    killed.ready()
    job_ids = [fleet.enqueue(Visit(gate="never", account_id=str(n))) for n in range(2)]
    fleet.wait_for_line("waits", times=2)
    fleet.wait_for_starts(job_ids)
    killed.kill_all()
    fleet.worker("heir").ready()
    assert fleet.wait_for_end(job_ids) == {"succeeded": 2}
    for job_id in job_ids:
        assert fleet.events(job_id) == ["enqueued", "started", "retried", "started", "succeeded"]
        assert fleet.causes(job_id) == ["lost"]
    fleet.check()


def test_when_the_main_process_dies_no_child_goes_on_alone(fleet: Fleet) -> None:
    killed = fleet.worker("killed", pool="prefork")
    killed.ready()
    job_id = fleet.enqueue(Visit(gate="never"))
    fleet.wait_for_line("waits")
    child = psutil.Process(int(fleet.outside.lines("began")[0][3]))
    killed.kill()
    eventually(lambda: not child.is_running(), describe="the child to follow its parent")
    fleet.worker("heir").ready()
    assert fleet.wait_for_end([job_id]) == {"succeeded": 1}
    assert fleet.causes(job_id) == ["lost"]
    fleet.check()


@pytest.mark.parametrize("pool", ["threads", "prefork"])
def test_a_death_between_an_effect_and_its_record_leaves_one_effect(fleet: Fleet, pool: str) -> None:
    fleet.worker("mortal", pool=pool).ready()
    job_id = fleet.enqueue(Perilous(key="draft", end="die"))
    fleet.wait_for_line("call draft")
    if pool == "threads":
        fleet.worker("heir").ready()
    assert fleet.wait_for_end([job_id]) == {"succeeded": 1}
    assert fleet.ask("select output from jobs where id = %s", job_id) == [({"key": "draft", "found": True},)]
    assert fleet.ask("select status from idempotency_keys where kind = 'effect'") == [("succeeded",)]
    check_calls([line[1] for line in fleet.outside.lines("call")])
    assert fleet.causes(job_id) == ["lost"]
    fleet.check()


def test_a_job_that_kills_its_child_each_time_is_poison_and_the_worker_lives(fleet: Fleet) -> None:
    worker = fleet.worker(pool="prefork", POSTROOM_LEASE_S="30")
    worker.ready()
    poison = fleet.enqueue(Ending(word="kill"))
    good = [fleet.enqueue(Ending(word=str(n))) for n in range(5)]
    # Far sooner than the lease of 30 s: the main process reports each loss.
    assert fleet.wait_for_end([poison, *good], within=20) == {"dead": 1, "succeeded": 5}
    code, plan = fleet.ask("select error ->> 'code', plan from dead_letters where job_id = %s", poison)[0]
    assert (code, plan.split(".")[0]) == ("poison", "The job took its worker process down each time")
    assert fleet.events(poison).count("started") == 3
    later = fleet.enqueue(Ending(word="later"))
    assert fleet.wait_for_end([later]) == {"succeeded": 1}
    assert worker.alive
    fleet.check()


def test_a_child_killed_from_outside_costs_its_job_one_attempt(fleet: Fleet) -> None:
    worker = fleet.worker(pool="prefork", POSTROOM_LEASE_S="30")
    worker.ready()
    job_id = fleet.enqueue(Visit(gate="never"))
    fleet.wait_for_line("waits")
    child = int(fleet.outside.lines("began")[0][3])
    os.kill(child, signal.SIGKILL)
    assert fleet.wait_for_end([job_id], within=20) == {"succeeded": 1}
    assert fleet.causes(job_id) == ["lost"]
    fleet.check()


def test_three_different_workers_that_it_had_to_itself_make_a_job_poison_with_threads_too(fleet: Fleet) -> None:
    poison = fleet.enqueue(Ending(word="kill"))
    # Each worker takes the job once and dies of it, the first perhaps of another; the fifth raises the alert.
    workers = [fleet.worker(name) for name in ("first", "second", "third", "fourth", "fifth")]
    assert fleet.wait_for_end([poison], within=60) == {"dead": 1}
    assert fleet.ask("select error ->> 'code' from dead_letters where job_id = %s", poison) == [("poison",)]
    assert fleet.causes(poison) == ["lost", "lost", "lost"]
    fleet.check()
    assert [worker.alive for worker in workers].count(True) == 1


def test_kills_in_a_row_cost_no_innocent_job(fleet: Fleet) -> None:
    """Each worker is killed as soon as it has begun something, and the next one is about to be ready."""
    job_ids = [fleet.enqueue(Perilous(key=f"k{n}.", end="late")) for n in range(50)]
    began, standby = time.monotonic(), fleet.worker("w0")
    for kill in range(KILLS):
        worker, seen = standby, len(fleet.outside.lines("began"))
        standby = fleet.worker(f"w{kill + 1}") if kill < KILLS - 1 else worker
        worker.ready()
        fleet.wait_for_line("began", times=seen + 1)
        worker.kill_all()
    took = time.monotonic() - began
    fleet.worker("heir", concurrency=4).ready()
    assert fleet.wait_for_end(job_ids, within=120) == {"succeeded": 50}, f"after {KILLS} kills in {took:.0f} s"
    check_calls([line[1] for line in fleet.outside.lines("call")])
    assert fleet.ask("select count(*) from dead_letters") == [(0,)]
    fleet.check()


REMINDERS, PEOPLE = 10_000, 50
REMIND_WITHIN_S = 400.0
"""Each reminder is two jobs; one worker is left to tell most of them, on a busy machine of two cores."""


def test_ten_thousand_reminders_of_one_second_are_told_once_each(fleet: Fleet) -> None:
    people = "insert into users (org_id, email) select %s, 'p' || n || '@example.com' from generate_series(1, %s) n"
    fleet.ask(people, fleet.org, PEOPLE)
    fleet.ask(
        "insert into reminders (org_id, user_id, title, starts_local, zone, due_at, created_by)"
        " select org_id, id, 'Water ' || n, now(), 'UTC', now(), 'test' from users, generate_series(1, %s) n"
        " where org_id = %s",
        REMINDERS // PEOPLE,
        fleet.org,
    )
    workers = [fleet.worker(name, concurrency=4, queues=("notifications",)) for name in ("killed", "heir")]
    for worker in workers:
        worker.ready()
    eventually(lambda: shown(fleet) > REMINDERS // 20, within=REMIND_WITHIN_S, describe="the first reminders")
    workers[0].kill_all()
    assert shown(fleet) < REMINDERS
    eventually(lambda: shown(fleet) == REMINDERS, within=REMIND_WITHIN_S, describe=f"{REMINDERS} reminders")
    told = "select count(*), count(distinct data #>> '{metadata,reminder_id}') from notifications"
    assert fleet.ask(told) == [(REMINDERS, REMINDERS)]
    assert fleet.ask("select state, count(*) from reminders group by state") == [("sent", REMINDERS)]
    fleet.check()


def shown(fleet: Fleet) -> int:
    """How many reminders stand in their person's inbox."""
    return int(fleet.ask("select count(*) from inbox_items where starts_with(title, 'Reminder: Water')")[0][0])
