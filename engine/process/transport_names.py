"""By which of our transports a process publishes to a broker, by the name that kombu loads it under.

The transports themselves are loaded when they are used: one needs the runtime, and no process needs both.
"""

AMQP = "engine.celery_patches.amqp_transport"
REDIS = "engine.celery_patches.redis_clients"

TRANSPORTS = {
    "amqp": f"{AMQP}:Transport",
    "pyamqp": f"{AMQP}:Transport",
    "amqps": f"{AMQP}:SecureTransport",
    "redis": f"{REDIS}:Transport",
    "rediss": f"{REDIS}:Transport",
}


def transport_of(broker_url: str) -> str | None:
    """The name of a publisher's transport for a broker's URL, as kombu takes it; None for one that we have none for."""
    return TRANSPORTS.get(broker_url.partition("://")[0])
