"""What making or using a connection to the broker, or to a Redis, may raise."""

from amqp.exceptions import AMQPError
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

CONNECTION_ERRORS = (
    AMQPError,
    OSError,
    OperationalError,
    RedisError,
    # For a URL or an option that kombu or a client library does not understand, or a transport that cannot be loaded.
    AttributeError,
    ImportError,
    LookupError,
    TypeError,
    ValueError,
)
"""All that kombu's transports list as errors of a connection or of a channel is among them."""
