"""By which of our transports a process speaks to a broker, by the names that kombu loads them under.

A transport is loaded when a process first uses it, because RabbitMQ's needs the runtime.
"""

from typing import NamedTuple

AMQP = "engine.celery_patches.amqp_transport"
REDIS_CLIENTS = "engine.celery_patches.redis_clients"
REDIS_TRANSPORT = "engine.celery_patches.redis_transport"


class TransportNames(NamedTuple):
    """A publisher's transport, and that of the app, by which workers take messages."""

    publishers: str
    apps: str


TRANSPORTS = {
    "amqp": TransportNames(f"{AMQP}:Transport", f"{AMQP}:Transport"),
    "pyamqp": TransportNames(f"{AMQP}:Transport", f"{AMQP}:Transport"),
    "amqps": TransportNames(f"{AMQP}:SecureTransport", f"{AMQP}:SecureTransport"),
    "redis": TransportNames(f"{REDIS_CLIENTS}:Transport", f"{REDIS_TRANSPORT}:Transport"),
    "rediss": TransportNames(f"{REDIS_CLIENTS}:SecureTransport", f"{REDIS_TRANSPORT}:SecureTransport"),
}


def transports_of(broker_url: str) -> TransportNames | None:
    """The transports for a broker's URL; None for a broker of another kind, or a host without a scheme."""
    return TRANSPORTS.get(broker_url.partition("://")[0].lower())


def transport_of(broker_url: str) -> str | None:
    """The name of a publisher's transport for a broker's URL; None where kombu's own is taken."""
    names = transports_of(broker_url)
    return None if names is None else names.publishers
