"""Queues of RabbitMQ that clients may have declared before the fleet, with arguments of their own."""

from collections.abc import Mapping, Sequence

from kombu import Connection
from kombu import Queue as BrokerQueue

from engine.broker.connection_errors import cause_of

NOT_FOUND = 404


def unusable(connection: Connection, queues: Sequence[BrokerQueue], *, declare: bool = True) -> Mapping[str, str]:
    """Which of the clients' queues cannot be consumed, by name, and why; those that are missing are made.

    A queue that is there is left as it is, and can be consumed unless it is another connection's alone. Other brokers
    know no declared queues. Without `declare` nothing is made.
    """
    if connection.transport.driver_type != "amqp":
        return {}
    refusals = {queue.name: _refusal(connection, queue, declare=declare) for queue in queues if queue.no_declare}
    return {name: refusal for name, refusal in refusals.items() if refusal}


def _refusal(connection: Connection, queue: BrokerQueue, *, declare: bool) -> str:
    """What RabbitMQ says against a queue; empty where it is there, or may be made."""
    # A channel for each question: RabbitMQ closes one on which it refuses.
    with connection.channel() as channel:
        try:
            queue(channel).queue_declare(passive=True)
        except connection.channel_errors as error:
            if getattr(error, "reply_code", None) != NOT_FOUND:
                return cause_of(error)
        else:
            return ""
    with connection.channel() as channel:
        try:
            if declare:
                queue(channel).queue_declare()
        except connection.channel_errors as error:
            return cause_of(error)
    return ""
