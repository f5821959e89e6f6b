"""Queues that a client has declared in RabbitMQ before the fleet stop no worker, and are consumed where they can be."""

from uuid import UUID, uuid4

import pytest
from kombu import Connection, Exchange, Queue

from commands.clients_queues import clients_queues_checks
from engine.relay.broker import Broker
from engine.runtime import Runtime
from tests.doubles.factories import make_settings
from tests.doubles.messages.odd_messages import contract
from tests.fleet.fleet import Fleet
from tests.fleet.rabbitmq.confirming import confirming_client

FOREIGN = {
    "quorum": {"queue_arguments": {"x-queue-type": "quorum"}},
    "priorities": {"max_priority": 10},
    "limited": {"queue_arguments": {"x-max-length": 1000, "x-message-ttl": 60_000}},
    "transient": {"durable": False},
}


@pytest.mark.parametrize("options", FOREIGN.values(), ids=FOREIGN)
def test_a_queue_with_other_arguments_is_consumed(fleet_on_rabbitmq: Fleet, options: dict[str, object]) -> None:
    fleet = fleet_on_rabbitmq
    job = contract(org_id=str(fleet.org))
    queue = Queue("celery", Exchange(""), routing_key="celery", **options)
    with confirming_client(fleet.broker_url) as client:
        client.send_task("probe_jobs.noop", kwargs=job, queue=queue)
    worker = fleet.worker()
    worker.ready()
    assert fleet.wait_for_end([UUID(job["job_id"])]) == {"succeeded": 1}
    assert "Traceback" not in worker.logs()


def test_a_queue_of_another_connection_alone_is_left_out(fleet_on_rabbitmq: Fleet) -> None:
    fleet = fleet_on_rabbitmq
    job = contract(org_id=str(fleet.org))
    with Connection(fleet.broker_url) as owner:
        Queue("celery", exclusive=True, channel=owner.default_channel).queue_declare()
        worker = fleet.worker()
        worker.ready()
        assert '"queue_not_consumed"' in worker.logs()
        with confirming_client(fleet.broker_url) as client:
            client.send_task("probe_jobs.noop", kwargs=job, queue="q:default")
        assert fleet.wait_for_end([UUID(job["job_id"])]) == {"succeeded": 1}
        (check,) = clients_queues_checks(make_settings(broker_url=fleet.broker_url), 5.0)
        assert (check.ok, "celery" in check.finding) == (False, True)


def test_the_relay_makes_its_mark_beside_queues_that_it_may_not_declare(fleet_on_rabbitmq: Fleet) -> None:
    url, fresh = fleet_on_rabbitmq.broker_url, str(uuid4())
    with Connection(url) as owner:
        Queue("celery", exclusive=True, channel=owner.default_channel).queue_declare()
        Queue("q:default", max_priority=10, channel=owner.default_channel).queue_declare()
        broker = Broker(Runtime(make_settings(broker_url=url)))
        assert broker.read_or_set_epoch(fresh, None) == fresh
        owner.default_channel.queue_declare("q:critical", passive=True)
        broker.close()
