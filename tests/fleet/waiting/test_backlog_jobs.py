"""Ordinary jobs of the backlog: no message names them, and Celery's commands and events know them all the same."""

from collections.abc import Sequence
from uuid import UUID, uuid4

import pytest
import redis
from celery import Celery

from domain.payloads.payload import Payload
from engine.broker.hints import CLAIM_BACKLOG
from storage.ledger import ledger
from tests.doubles.probe_jobs import Ending, Noop, Stepping
from tests.fleet.fleet import END_WITHIN_S, Fleet
from tests.fleet.test_task_events import WITH_HEARTBEAT, kinds, listening
from tests.waiting import eventually


def put_into_backlog(fleet: Fleet, *payloads: Payload, job_ids: Sequence[UUID] = ()) -> list[UUID]:
    """Enqueue jobs that wait for the relay, as those over a tenant's burst do."""
    process = fleet.client
    with process.database.ledger() as tx:
        jobs = [payload.job(org_id=fleet.org) for payload in payloads]
        made = ledger.enqueue(tx, jobs, publisher=True, hint_timeout=process.hint_timeout, burst=0, job_ids=job_ids)
    assert not any(one.publish for one in made)
    return [one.job_id for one in made]


def is_active(operator: Celery, job_id: UUID) -> bool:
    answers = operator.control.inspect(timeout=2).active() or {}
    return str(job_id) in {task["id"] for tasks in answers.values() for task in tasks}


def test_a_job_of_the_backlog_sends_the_events_of_a_task(fleet: Fleet) -> None:
    fleet.worker(options=WITH_HEARTBEAT).ready()
    with Celery("monitor", broker=fleet.broker_url) as monitor, listening(monitor) as events_of:
        monitor.control.enable_events(reply=True, timeout=END_WITHIN_S, limit=1)
        [job_id] = put_into_backlog(fleet, Noop())
        assert fleet.wait_for_end([job_id]) == {"succeeded": 1}
        task_id = str(job_id)
        eventually(lambda: len(events_of.get(task_id, [])) >= 3, within=END_WITHIN_S, describe="the events of a task")
    assert kinds(events_of, task_id) == ["task-received", "task-started", "task-succeeded"]
    assert fleet.events(job_id) == ["enqueued", "started", "succeeded"]
    fleet.check()


def test_a_job_of_the_backlog_is_listed_and_terminated_like_any_other(fleet: Fleet) -> None:
    fleet.worker(pool="prefork").ready()
    with Celery("operator", broker=fleet.broker_url) as operator:
        [job_id] = put_into_backlog(fleet, Stepping(gate="go"))
        fleet.wait_for_line("waits")
        eventually(lambda: is_active(operator, job_id), within=END_WITHIN_S, describe="the job to be listed as active")
        assert fleet.states([job_id]) == {"running": 1}
        operator.control.revoke(str(job_id), terminate=True, signal="SIGKILL")
        eventually(lambda: fleet.causes(job_id), within=END_WITHIN_S, describe="the terminated attempt to be given up")
    fleet.outside.open_gate("go")
    # Celery remembers the revocation: the next attempt is not begun.
    assert fleet.wait_for_end([job_id]) == {"canceled": 1}
    fleet.check()


def test_a_job_of_the_backlog_that_was_revoked_is_canceled(fleet: Fleet) -> None:
    fleet.worker().ready()
    with Celery("operator", broker=fleet.broker_url) as operator:
        [held] = put_into_backlog(fleet, Stepping(gate="go"))
        fleet.wait_for_line("waits")
        revoked = uuid4()
        answers = operator.control.revoke(str(revoked), reply=True, timeout=END_WITHIN_S, limit=1)
        assert len(answers) == 1
        put_into_backlog(fleet, Ending(word="x"), job_ids=[revoked])
        assert fleet.wait_for_end([revoked]) == {"canceled": 1}
    fleet.outside.open_gate("go")
    assert fleet.wait_for_end([held]) == {"succeeded": 1}
    fleet.check()


@pytest.mark.parametrize("pool", ["threads", "prefork"])
def test_demand_that_gets_lost_strands_no_job(fleet: Fleet, pool: str) -> None:
    fleet.worker("relay", queues=("exports",)).ready()
    with redis.Redis.from_url(fleet.broker_url) as broker:
        job_ids = put_into_backlog(fleet, *[Noop() for _ in range(20)])
        for _ in range(3):
            eventually(lambda: broker.llen("default"), within=END_WITHIN_S, describe="demand")
            assert all(CLAIM_BACKLOG.encode() in message for message in broker.lrange("default", 0, -1))
            broker.delete("default")
    assert fleet.states(job_ids) == {"queued": 20}
    fleet.worker("heir", pool=pool).ready()
    assert fleet.wait_for_end(job_ids) == {"succeeded": 20}
    assert all(fleet.events(job_id)[0] == "enqueued" for job_id in job_ids)
    fleet.check()
