"""A job enqueued in Python, SQL or by a Celery message runs the same, in both pools."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest
from celery import Celery

from tests.doubles.probe_jobs import Noop
from tests.fleet.fleet import Fleet


def contract(org: UUID, **given: object) -> dict[str, Any]:
    """A job as a service of another language writes it."""
    fields: dict[str, object] = {
        "job_id": str(uuid4()),
        "job_type": "probe_jobs.noop",
        "org_id": str(org),
        "actor_type": "api_key",
        "actor_id": "billing",
        "request_id": "r-1",
        "correlation_id": "c-1",
        "idempotency_key": f"k-{uuid4()}",
        "created_at": datetime.now(UTC).isoformat(),
        "payload": {},
        "payload_version": 1,
    }
    return fields | given


@pytest.mark.parametrize("pool", ["threads", "prefork"])
def test_jobs_enqueued_in_every_way_succeed_once(fleet: Fleet, pool: str) -> None:
    fleet.worker(pool=pool).ready()
    foreign = Celery("billing", broker=fleet.broker_url)
    sent = contract(fleet.org)
    job_ids = [
        fleet.enqueue(Noop()),
        *fleet.enqueue_many([Noop().job(org_id=fleet.org) for _ in range(50)]),
        fleet.ask("select postroom.enqueue('probe_jobs.noop', %s)", fleet.org)[0][0],
        UUID(sent["job_id"]),
    ]
    for _ in range(2):
        foreign.send_task("probe_jobs.noop", kwargs=sent, queue="default")
    foreign.send_task(
        "probe_jobs.noop", kwargs=sent | {"job_id": str(uuid4())}, queue="default", task_id=sent["job_id"]
    )
    foreign.close()
    assert fleet.wait_for_end(job_ids) == {"succeeded": 53}
    assert fleet.ask("select count(*) from jobs") == [(53,)]
    assert fleet.ask("select actor_id, request_id, correlation_id from jobs where id = %s", job_ids[-1]) == [
        ("billing", "r-1", "c-1")
    ]
    fleet.check()
