"""Jobs of the backlog: no message names them, and Celery's events do all the same."""

from uuid import UUID

import pytest
import redis
from celery import Celery

from domain.payloads.payload import Payload
from engine.broker.hints import CLAIM_BACKLOG
from storage.jobs import ledger
from tests.doubles.probe_jobs import Noop
from tests.fleet.fleet import END_WITHIN_S, Fleet
from tests.fleet.operators.test_task_events import WITH_HEARTBEAT, kinds, listening
from tests.waiting import eventually


def put_into_backlog(fleet: Fleet, *payloads: Payload) -> list[UUID]:
    """Enqueue jobs that wait for the relay, as those over a tenant's burst do."""
    process = fleet.client
    with process.database.ledger() as tx:
        jobs = [payload.job(org_id=fleet.org) for payload in payloads]
        made = ledger.enqueue(tx, jobs, publisher=True, hint_timeout=process.hint_timeout, burst=0)
    assert not any(one.publish for one in made)
    return [one.job_id for one in made]


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
