"""A publisher's connection to RabbitMQ is lost without a word: the next hints go by another one."""

from uuid import uuid4

from kombu import Connection

from domain.jobs.job import Hint
from domain.jobs.queues import Queue
from engine.broker.publisher import Publisher
from sandbox.servers.rabbitmq_server import RabbitServer
from sandbox.servers.tcp_proxy import TcpProxy


def test_a_publisher_notices_that_nobody_takes_its_hints(rabbit: RabbitServer) -> None:
    host = uuid4().hex
    rabbit.add_virtual_host(host)
    with Connection(rabbit.url(host=host)) as connection, TcpProxy(rabbit.port) as proxy:
        queue = connection.default_channel.queue_declare(Queue.DEFAULT.value, durable=True, auto_delete=False).queue
        behind = rabbit.url(host=host).replace(f":{rabbit.port}/", f":{proxy.port}/")
        publisher = Publisher(behind, health_check_s=0)
        hints = [Hint(uuid4(), "probe.run", queue) for _ in range(3)]
        assert publisher.publish(hints[:1])
        proxy.silence()
        assert not publisher.publish(hints[1:2])
        assert not publisher.may_publish
        another = Publisher(behind, health_check_s=0)
        assert another.publish(hints[2:])
        another.close()
        publisher.close()
        with connection.SimpleQueue(queue, no_ack=True) as simple:
            arrived = {simple.get(timeout=5).headers["id"] for _ in range(2)}
        assert arrived == {str(hints[0].job_id), str(hints[2].job_id)}
