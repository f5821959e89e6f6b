"""Which of our transports serves a broker, by the name that kombu loads it under.

The transports themselves are loaded when they are used: they record what they cannot read, and so need the runtime.
"""

AMQP = "engine.celery_patches.amqp_transport"


def transport_of(broker_url: str) -> str | None:
    """The name of our transport for a broker's URL, as kombu takes it; None for another broker than RabbitMQ."""
    scheme = broker_url.partition("://")[0]
    name = {"amqp": "Transport", "pyamqp": "Transport", "amqps": "SecureTransport"}.get(scheme)
    return name and f"{AMQP}:{name}"
