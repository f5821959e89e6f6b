"""Odd messages on RabbitMQ, where it is installed."""

import zlib
from typing import Any
from uuid import UUID, uuid4

from kombu import Connection, Exchange, Queue

from engine.relay.broker import QUORUM
from tests.doubles.messages.odd_messages import ODD_EMBEDS, body, contract, task_headers
from tests.fleet.fleet import Fleet
from tests.fleet.rabbitmq.confirming import CONFIRMED, confirming_client
from tests.waiting import eventually


def test_odd_messages_stop_no_worker(fleet_on_rabbitmq: Fleet) -> None:
    fleet = fleet_on_rabbitmq
    worker = fleet.worker()
    worker.ready()
    bomb = zlib.compress(b" " * 50_000_000)
    odd: list[tuple[dict[str, Any], bytes]] = [
        ({"shadow": ["a"]}, body({})),
        ({"task": ["a"]}, body({})),
        ({"id": None}, body({})),
        ({"timelimit": {"a": 1}}, body({})),
        ({"compression": "application/x-gzip"}, bomb),
        ({}, b"\xff"),
        *(({}, body({}, embed=embed)) for embed in ODD_EMBEDS),
        ({"origin": "postroom", "task": "postroom.claim_backlog", "demand": [[True, "x", 1]]}, b""),
    ]
    with Connection(fleet.broker_url, transport_options=CONFIRMED) as connection:
        for changed, given in odd:
            connection.Producer().publish(
                given,
                routing_key="default",
                headers=task_headers(task_id=str(uuid4())) | changed,
                content_type="application/json",
                content_encoding="utf-8",
            )
    sent = contract(org_id=str(fleet.org), job_type="probe_jobs.ending", payload={"word": "hello"})
    jobs = [contract(org_id=str(fleet.org)) for _ in range(2)]
    with confirming_client(fleet.broker_url) as client:
        quorum = Queue("default", Exchange(""), routing_key="default", queue_arguments=QUORUM)
        client.send_task("probe_jobs.ending", kwargs=sent, queue=quorum, compression="zlib")
        for job, options in zip(jobs, ({}, {"queue": "q:default"}), strict=True):
            client.send_task("probe_jobs.noop", kwargs=job, **options)
    assert fleet.wait_for_end([UUID(one["job_id"]) for one in (sent, *jobs)]) == {"succeeded": 3}
    # A connection that is lost in between brings messages again, which are refused again.
    eventually(
        lambda: fleet.ask("select count(distinct task_id) from refused_messages") == [(len(odd),)],
        within=30,
        describe="each odd message to be recorded",
    )
    assert worker.alive
