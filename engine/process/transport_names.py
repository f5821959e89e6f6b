"""By which of our transports a process publishes to a broker, by the name that kombu loads it under.

A transport is loaded when a process first publishes, because RabbitMQ's needs the runtime.
"""

AMQP = "engine.celery_patches.amqp_transport"
REDIS = "engine.celery_patches.redis_clients"

TRANSPORTS = {
    "amqp": f"{AMQP}:Transport",
    "pyamqp": f"{AMQP}:Transport",
    "amqps": f"{AMQP}:SecureTransport",
    "redis": f"{REDIS}:Transport",
    "rediss": f"{REDIS}:SecureTransport",
}


def transport_of(broker_url: str) -> str | None:
    """The name of a publisher's transport for a broker's URL, as kombu takes it; None for a broker of another kind."""
    return TRANSPORTS.get(broker_url.partition("://")[0].lower())
