"""Clients whose messages RabbitMQ has when they leave: a connection that closes at once may lose one otherwise."""

from collections.abc import Iterator
from contextlib import contextmanager

from celery import Celery

CONFIRMED = {"confirm_publish": True}
"""Transport options of a connection: each message is waited for until RabbitMQ has it."""


@contextmanager
def confirming_client(url: str) -> Iterator[Celery]:
    """A plain Celery app of somebody else, whose connections are closed at the end."""
    with Celery("client", broker=url, set_as_current=False) as client:
        client.conf.broker_transport_options = CONFIRMED
        yield client
        client.pool.force_close_all()
