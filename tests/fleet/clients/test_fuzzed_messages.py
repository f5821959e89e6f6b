"""A real worker and hundreds of odd messages, with a good job after each: the worker lives, and every good job ends."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from uuid import UUID

import pytest
import redis
from celery import Celery
from celery.events import EventReceiver
from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.doubles.messages.odd_messages import (
    body,
    contract,
    envelope,
    envelopes,
    good_messages,
    killers,
    task_headers,
)
from tests.fleet.fleet import Fleet
from tests.fleet.operators.test_task_events import WITH_HEARTBEAT
from tests.waiting import eventually

INPUTS = 300


def odd_inputs(number: int) -> list[bytes]:
    """The known killers, and what the fuzzer makes of good messages."""
    made: list[bytes] = list(killers().values())

    @seed(number)
    @settings(
        max_examples=-(-INPUTS // len(good_messages())),
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(envelopes())
    def make(items: list[bytes]) -> None:
        made.extend(items)

    make()
    return made


def good(fleet: Fleet) -> tuple[UUID, bytes]:
    """A job of a foreign client, and the message that carries it."""
    sent = contract(org_id=str(fleet.org))
    message = envelope(body(sent), task_headers(task_id=sent["job_id"]))
    return UUID(sent["job_id"]), json.dumps(message).encode()


@pytest.mark.parametrize("pool", ["threads", "prefork"])
def test_a_worker_outlives_every_odd_message_and_runs_the_good_job_after_each(
    fleet: Fleet, request: pytest.FixtureRequest, pool: str
) -> None:
    worker = fleet.worker(pool=pool)
    inputs = odd_inputs(request.config.option.fuzz_seed)
    goods = [good(fleet) for _ in inputs]
    with redis.Redis.from_url(fleet.broker_url) as broker:
        for odd, (_, message) in zip(inputs, goods, strict=True):
            broker.lpush("default", odd, message)
        worker.ready()
        pid = worker.pid
        job_ids = [job_id for job_id, _ in goods]
        assert fleet.wait_for_end(job_ids, within=120) == {"succeeded": len(job_ids)}
        eventually(lambda: not broker.exists("default", "unacked"), within=30, describe="every message to be answered")
    assert (worker.alive, worker.pid) == (True, pid)
    assert worker.logs().count("Traceback") == 0, worker.logs()[-5000:]
    refused = fleet.ask("select field, count(*) from refused_messages group by 1")
    assert sum(count for _, count in refused) >= len(killers()) / 2
    assert all(field for field, _ in refused)


def test_arguments_of_a_foreign_message_reach_nobody_who_listens(fleet: Fleet) -> None:
    """Flower shows what Celery's events say, and keeps it; a payload that is refused may hold a secret."""
    secret = "s3cr3t-value"
    worker = fleet.worker(options=(*WITH_HEARTBEAT, "--task-events"))
    sent = [
        contract(org_id=str(fleet.org), payload={"access_token": secret}),
        contract(org_id=str(fleet.org), job_type="probe_jobs.ending", payload={"word": secret}),
        contract(org_id=secret),
    ]
    worker.ready()
    with Celery("flower", broker=fleet.broker_url) as flower, listening_to_all(flower) as heard:
        with Celery("foreign", broker=fleet.broker_url) as foreign:
            for one in sent:
                foreign.send_task(one["job_type"], kwargs=one, queue="default", task_id=one["job_id"])
            foreign.pool.force_close_all()
        assert fleet.wait_for_end([UUID(sent[1]["job_id"])]) == {"succeeded": 1}
        eventually(lambda: any("task-succeeded" in one for one in heard), within=30, describe="the events of the job")
    assert [one for one in heard if secret in one] == []
    assert secret not in worker.logs()


@contextmanager
def listening_to_all(app: Celery) -> Iterator[list[str]]:
    """All that the events say which arrive during the block."""
    heard: list[str] = []
    with app.connection_for_read() as connection:
        receiver = EventReceiver(connection, handlers={"*": lambda event: heard.append(repr(event))}, app=app)
        thread = Thread(target=lambda: receiver.capture(wakeup=False))
        thread.start()
        try:
            eventually(lambda: heard, within=30, describe="a worker's heartbeat")
            yield heard
        finally:
            receiver.should_stop = True
            thread.join()
