"""What making or using a connection to the broker, or to a Redis, may raise, and whose fault it is."""

from collections.abc import Iterator
from contextlib import contextmanager

from amqp.exceptions import AMQPError
from kombu.exceptions import BatchPublishError, KombuError, LimitExceeded, OperationalError
from redis.exceptions import RedisError
from structlog.typing import FilteringBoundLogger

from observability.connection_diagnosis import diagnosis_of

AWAY = (AMQPError, BatchPublishError, LimitExceeded, OperationalError, OSError, RedisError)
"""What kombu and the client libraries raise for a server that does not answer or refuses. All that kombu's transports
for Redis and RabbitMQ list as errors of a connection or of a channel is among them, but the `KeyError` of consuming."""

NOT_MADE = (AttributeError, ImportError, LookupError, TypeError, ValueError)
"""What making a connection may raise, for a URL or an option that kombu or a client library does not understand, or a
transport that cannot be loaded."""

CONNECTION_ERRORS = (*AWAY, *NOT_MADE)
"""What a look may raise that makes a connection and asks nothing else."""

MISTAKES = (*NOT_MADE, ArithmeticError, AssertionError, KombuError, RuntimeError)
"""What is a mistake of ours once a connection is made, unless it is among `AWAY`: whoever has other work to do logs it
and goes on."""


class NotMade(Exception):
    """No connection can be made of the URL; the cause says why."""


@contextmanager
def making() -> Iterator[None]:
    """Raise `NotMade` where the block, which makes a connection and does nothing else, finds its URL of no use."""
    try:
        yield
    except AWAY:
        raise  # an error of a certificate is a ValueError, too
    except NOT_MADE as error:
        raise NotMade from error


def is_mistake(error: BaseException) -> bool:
    """Whether an error of `NotMade`, `AWAY` and `MISTAKES` is of our own making."""
    return not isinstance(error, (NotMade, *AWAY))


def cause_of(error: BaseException, setting: str = "POSTROOM_BROKER_URL") -> str:
    """What was found, in words, for an error that is no mistake; `setting` is where the URL stands."""
    return diagnosis_of(_known(error), setting).finding


def log_failure(
    log: FilteringBoundLogger,
    event: str,
    error: BaseException,
    setting: str = "POSTROOM_BROKER_URL",
    **facts: int,
) -> None:
    """Say why it failed: the server, its URL, or a mistake of ours, which is shown in full."""
    name = type(_known(error)).__name__
    if is_mistake(error):
        log.error(event, error=name, exc_info=error, **facts)
    else:
        log.warning(event, error=name, cause=cause_of(error, setting), **facts)


def _known(error: BaseException) -> BaseException:
    return error.__cause__ or error if isinstance(error, NotMade) else error
