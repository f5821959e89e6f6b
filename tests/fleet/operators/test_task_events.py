"""Celery's events of tasks, as Flower asks for them and sees them."""

import json
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Thread
from typing import Any

import pytest
from celery import Celery
from celery.events import EventReceiver

from sandbox.servers.child_process import ChildProcess, Command
from sandbox.servers.free_port import find_free_port
from tests.doubles.probe_jobs import Ending, Noop
from tests.fleet.fleet import END_WITHIN_S, QUIET_OPTIONS, Fleet
from tests.fleet.test_producers import contract
from tests.house.reading import ROOT
from tests.servers.python_processes import spawn_python
from tests.waiting import eventually

WITH_HEARTBEAT = tuple(word for word in QUIET_OPTIONS if word != "--without-heartbeat")
"""The options of deployed workers; a worker without heartbeats sends no events."""

Told = dict[str, list[Mapping[str, Any]]]
"""Events in order of arrival, by task id; the worker's own events have no task id."""

SECRET = "what nobody may read in a monitor"


@contextmanager
def listening(monitor: Celery) -> Iterator[Told]:
    """Record the events during the block, from the first heartbeat on."""
    events_of: Told = {}

    def note(event: Mapping[str, Any]) -> None:
        events_of.setdefault(event.get("uuid", "no task"), []).append(event)

    with monitor.connection_for_read() as connection:
        receiver = EventReceiver(connection, handlers={"*": note}, app=monitor)
        thread = Thread(target=lambda: receiver.capture(wakeup=False))
        thread.start()
        try:
            eventually(lambda: "no task" in events_of, within=END_WITHIN_S, describe="a worker's heartbeat")
            yield events_of
        finally:
            receiver.should_stop = True
            thread.join()


@pytest.mark.parametrize("pool", ["threads", "prefork"])
def test_a_worker_sends_events_of_tasks_once_a_consumer_asks_for_them(fleet: Fleet, pool: str) -> None:
    fleet.worker(pool=pool, options=WITH_HEARTBEAT).ready()
    with Celery("monitor", broker=fleet.broker_url) as monitor, listening(monitor) as events_of:
        unseen = str(run_one(fleet))
        [answer] = monitor.control.enable_events(reply=True, timeout=END_WITHIN_S, limit=1)
        assert list(answer.values()) == [{"ok": "task events enabled"}]
        seen = str(run_one(fleet))
        eventually(lambda: len(events_of.get(seen, [])) >= 3, within=END_WITHIN_S, describe="the events of a task")
        foreign = contract(fleet.org, actor_id=SECRET)
        with Celery("foreign", broker=fleet.broker_url) as service:
            service.send_task("probe_jobs.noop", kwargs=foreign, queue="default", task_id=foreign["job_id"])
        eventually(
            lambda: "task-succeeded" in kinds(events_of, foreign["job_id"]),
            within=END_WITHIN_S,
            describe="the events of a foreign client's job",
        )
    assert kinds(events_of, seen) == ["task-received", "task-started", "task-succeeded"]
    assert unseen not in events_of
    assert SECRET not in str(events_of), "what a client sends reaches nobody who watches"


@contextmanager
def flower(fleet: Fleet) -> Iterator[str]:
    """A Flower of the fleet; yields its URL once it answers."""
    port = find_free_port()
    words = ["-m", "celery", "-A", "tasks", "flower", f"--port={port}", "--address=127.0.0.1"]
    environment = fleet.environment | {"FLOWER_UNAUTHENTICATED_API": "true"}
    command = Command([sys.executable, *words], environment=environment, folder=ROOT)
    process = ChildProcess(command, log=fleet.outside.folder / "flower.log", spawn=spawn_python)
    process.start()
    try:
        url = f"http://127.0.0.1:{port}"
        eventually(lambda: page(f"{url}/healthcheck") == "OK", within=END_WITHIN_S, describe="Flower to answer")
        yield url
    finally:
        process.stop()


def page(url: str) -> str | None:
    """What Flower answers; None when there is no such page, or no Flower yet."""
    try:
        with urllib.request.urlopen(url) as answer:  # noqa: S310  # our own Flower
            return str(answer.read().decode())
    except OSError:
        return None


@pytest.mark.parametrize("pool", ["threads", "prefork"])
def test_flower_knows_each_job_that_it_saw_by_our_id(fleet: Fleet, pool: str) -> None:
    """Its page, and its API with name, state and times; how a job ends, too."""
    fleet.worker(pool=pool, options=(*WITH_HEARTBEAT, "-E")).ready()

    def told(url: str, job_id: object) -> dict[str, Any]:
        answer = page(f"{url}/api/task/info/{job_id}")
        found: dict[str, Any] = json.loads(answer) if answer else {}
        return found if found.get("state") not in {"PENDING", "RECEIVED", "STARTED"} else {}

    def end_of(url: str, job_id: object) -> dict[str, Any]:
        return eventually(lambda: told(url, job_id), within=END_WITHIN_S, describe="what became of a job")

    with flower(fleet) as url:
        # Flower may not listen yet when the first job runs.
        eventually(lambda: page(f"{url}/api/task/info/{run_one(fleet)}"), within=END_WITHIN_S, describe="a task")
        job_id = run_one(fleet)
        found = end_of(url, job_id)
        assert (found["uuid"], found["name"], found["state"]) == (str(job_id), "probe_jobs.noop", "SUCCESS")
        assert found["received"] <= found["started"] <= found["succeeded"]
        assert (found["args"], found["kwargs"], found["runtime"] >= 0) == ("()", "{}", True)
        assert "probe_jobs.noop" in (page(f"{url}/task/{job_id}") or "")
        assert str(job_id) in json.loads(page(f"{url}/api/tasks") or "{}")
        bad = fleet.enqueue(Ending(word="permanent"))
        assert fleet.wait_for_end([bad]) == {"failed": 1}
        found = end_of(url, bad)
        assert (found["state"], found["name"]) == ("FAILURE", "probe_jobs.ending")


def kinds(told: Told, task_id: str) -> list[str]:
    """The types of a task's events."""
    return [event["type"] for event in told.get(task_id, [])]


def run_one(fleet: Fleet) -> object:
    """A job that has ended; returns its id, which is its task's."""
    job_id = fleet.enqueue(Noop())
    assert fleet.wait_for_end([job_id]) == {"succeeded": 1}
    return job_id
