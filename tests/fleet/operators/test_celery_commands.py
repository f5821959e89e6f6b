"""Celery's own commands to workers: what is held is listed, and a revoked job is canceled in the ledger, once."""

import json
import subprocess
import sys
from collections.abc import Mapping
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from celery import Celery
from celery.worker.control import Panel

from engine.worker.inspection import REFUSED
from engine.worker.revocations import REASON
from tests.doubles.probe_jobs import Noop, Stepping
from tests.fleet.fleet import END_WITHIN_S, Fleet
from tests.house.reading import ROOT
from tests.waiting import eventually

SECRET = "what nobody may read in a listing"

Listed = Mapping[str, Mapping[str, Any]]
"""What a worker tells of the tasks that it holds, by task id."""


def listed(operator: Celery, command: str) -> Listed:
    """What the fleet's one worker answers; silence is no answer."""
    answers = getattr(operator.control.inspect(timeout=END_WITHIN_S, limit=1), command)()
    assert answers, "the worker is silent"
    return {task["id"]: task for tasks in answers.values() for task in tasks}


@pytest.mark.parametrize("pool", ["threads", "prefork"])
def test_held_jobs_are_listed_with_name_queue_start_and_process(fleet: Fleet, pool: str) -> None:
    worker = fleet.worker(pool=pool, concurrency=1)
    worker.ready()
    running = fleet.enqueue(Stepping(gate="go", account_id=SECRET))
    fleet.wait_for_line("waits")
    with Celery("operator", broker=fleet.broker_url) as operator:
        eventually(lambda: str(running) in listed(operator, "active"), within=END_WITHIN_S, describe="the job")
        (task,) = listed(operator, "active").values()
        assert (task["name"], task["delivery_info"]["routing_key"]) == ("probe_jobs.stepping", "default")
        assert SECRET not in str(task)
        at = fleet.ask("select extract(epoch from claimed_at) from jobs where id = %s", running)[0][0]
        assert task["time_start"] == pytest.approx(float(at), abs=5.0)
        assert isinstance(task["worker_pid"], int)
        assert listed(operator, "reserved") == {}
        (found,) = (operator.control.inspect(timeout=END_WITHIN_S, limit=1).query_task(str(running)) or {}).values()
        assert found[str(running)][0] == "active"
    fleet.outside.open_gate("go")
    assert fleet.wait_for_end([running]) == {"succeeded": 1}
    fleet.check()


@pytest.mark.parametrize("pool", ["threads", "prefork"])
def test_a_revoked_job_is_canceled_by_one_worker_of_all_that_are_told(fleet: Fleet, pool: str) -> None:
    """A waiting one at once, a running one at its next step; what was revoked twice is canceled once."""
    workers = [fleet.worker(name, pool=pool, concurrency=1) for name in ("one", "two")]
    for worker in workers:
        worker.ready()
    running = [fleet.enqueue(Stepping(gate="go")) for _ in workers]
    fleet.wait_for_line("waits", times=len(workers))
    waiting = fleet.enqueue(Noop())
    with Celery("operator", broker=fleet.broker_url) as operator:
        names = [str(waiting), str(running[0]), str(uuid4())]
        answers = operator.control.revoke(names, terminate=True, reply=True, timeout=END_WITHIN_S, limit=2)
        assert [list(answer.values()) for answer in answers] == [[{"ok": "3 jobs will be canceled"}]] * 2
        operator.control.revoke(names)
        assert fleet.wait_for_end([waiting]) == {"canceled": 1}
        asked = "cancel_requested"
        eventually(lambda: asked in fleet.events(running[0]), within=END_WITHIN_S, describe="the request to cancel")
        refused = operator.control.revoke("no id", reply=True, timeout=END_WITHIN_S, limit=2)
        assert [list(answer.values()) for answer in refused] == [[{"error": "a job's id is a UUID"}]] * 2
    fleet.outside.open_gate("go")
    assert fleet.wait_for_end(running) == {"canceled": 1, "succeeded": 1}
    assert fleet.events(waiting) == ["enqueued", "canceled"]
    assert [event for event in fleet.events(running[0]) if event != "started"] == [
        "enqueued",
        "cancel_requested",
        "canceled",
    ]
    told = "select actor_id, data ->> 'reason' from audit_log where event = 'job.canceled' and job_id = %s"
    assert fleet.ask(told, waiting) == [("operator:celery control revoke", REASON)]
    fleet.check()


def test_a_job_that_somebody_has_locked_is_waited_for_by_nobody_and_canceled_later(fleet: Fleet) -> None:
    fleet.worker().ready()
    later = fleet.ask("select now() + interval '1 hour'")[0][0]
    locked = fleet.enqueue_many([Noop().job(org_id=fleet.org, run_at=later)])
    with Celery("operator", broker=fleet.broker_url) as operator:
        with psycopg.connect(fleet.database_url) as somebody:
            somebody.execute("select from jobs where id = %s for update", locked)
            assert revoke_by_command(fleet, locked[0]) == {"ok": "1 jobs will be canceled"}
            assert fleet.wait_for_end([fleet.enqueue(Noop())]) == {"succeeded": 1}, "the worker goes on"
            assert operator.control.ping(timeout=END_WITHIN_S, limit=1)
            assert fleet.states(locked) == {"queued": 1}
        assert fleet.wait_for_end(locked) == {"canceled": 1}
    fleet.check()


def revoke_by_command(fleet: Fleet, job_id: UUID) -> object:
    """What `celery control revoke` prints of the one worker's answer."""
    words = [sys.executable, "-m", "celery", "-A", "tasks", "control", "--json", "-t", "10", "revoke", str(job_id)]
    done = subprocess.run(words, cwd=ROOT, env=fleet.environment, capture_output=True, text=True, check=True)  # noqa: S603  # the arguments are constants
    (answer,) = json.loads(done.stdout)
    (said,) = answer.values()
    return said


PLAIN = (
    *("report", "conf", "clock", "ping", "stats", "scheduled", "reserved", "active", "revoked", "registered"),
    *("active_queues", "ledger", "memsample", "memdump", "heartbeat"),
    *("objgraph", "enable_events", "disable_events", "shutdown"),
)
DONE: Mapping[str, dict[str, Any]] = {
    **{name: {} for name in PLAIN},
    "hello": {"from_node": "another"},
    "query_task": {"ids": [str(uuid4())]},
    "revoke": {"task_id": [str(uuid4())]},
    "terminate": {"task_id": [str(uuid4())], "signal": "KILL"},
}
"""The commands of the panel that a worker does, with what they need."""

UNASKED = ("objgraph", "enable_events", "disable_events", "shutdown")
"""Not asked here: one needs a package that the fleet does not have, two need events, and one ends the worker."""


def test_each_command_of_celery_s_panel_is_done_or_refused_with_what_to_do_instead(fleet: Fleet) -> None:
    assert set(Panel.meta) == {*DONE, *REFUSED}
    worker = fleet.worker()
    worker.ready()
    with Celery("operator", broker=fleet.broker_url) as operator:

        def answer(name: str, given: dict[str, Any]) -> str:
            (said,) = operator.control.broadcast(name, given, reply=True, timeout=END_WITHIN_S, limit=1)
            return json.dumps(list(said.values()))

        queues = answer("active_queues", {})
        for name in REFUSED:
            said = answer(name, {"task_name": "probe_jobs.noop", "rate_limit": "1/m", "queue": "default", "n": 1})
            assert said.startswith(f'[{{"error": "{name} is not done: '), said
        assert answer("active_queues", {}) == queues
        assert [name for name in DONE if name not in UNASKED and '"error"' in answer(name, DONE[name])] == []
        assert fleet.wait_for_end([fleet.enqueue(Noop())]) == {"succeeded": 1}
        operator.control.shutdown()
        eventually(lambda: not worker.alive, within=END_WITHIN_S, describe="the end of the worker")
    fleet.check()


def test_the_command_line_prints_the_refusal(fleet: Fleet) -> None:
    fleet.worker().ready()
    words = [
        sys.executable,
        "-m",
        "celery",
        "-A",
        "tasks",
        "control",
        "-t",
        "10",
        "rate_limit",
        "probe_jobs.noop",
        "1/m",
    ]
    done = subprocess.run(words, cwd=ROOT, env=fleet.environment, capture_output=True, text=True, check=False)  # noqa: S603  # the arguments are constants
    assert "rate_limit is not done" in done.stdout
    assert "POSTROOM_RATE_LIMITS" in done.stdout
