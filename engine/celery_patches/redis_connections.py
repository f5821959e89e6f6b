"""redis-py's connections, made to fail at once where the broker has just left another question unanswered."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from redis.exceptions import ConnectionError as BrokerLost
from redis.exceptions import TimeoutError as NoAnswer

from engine.broker.broker_silence import BrokerSilence


def bounded(connection_class: type[Any], silence: BrokerSilence) -> type[Any]:
    """The same class of connections; all that are made of it share the silence."""

    class Bounded(connection_class):  # type: ignore[misc] # chosen by kombu: TCP, TLS or a unix socket
        """One connection."""

        def connect_check_health(self, *arguments: Any, **options: Any) -> None:  # noqa: ANN401 - redis-py's signature
            """Connect and greet the broker."""
            with _asking(silence):
                super().connect_check_health(*arguments, **options)

        def send_packed_command(self, *arguments: Any, **options: Any) -> None:  # noqa: ANN401 - as above
            """Send, after a PING when this connection was idle for long."""
            with _asking(silence):
                super().send_packed_command(*arguments, **options)

        def read_response(self, *arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - as above
            """Read an answer, never without a time limit.

            redis-py reads messages between workers without one: of half a message it would wait for the rest for ever.
            """
            if options.get("timeout", 0) is None:
                del options["timeout"]
            with _noting(silence):
                return super().read_response(*arguments, **options)

    return Bounded


@contextmanager
def _asking(silence: BrokerSilence) -> Iterator[None]:
    if silence.lasts:
        raise BrokerLost("the broker did not answer, and is asked again in a moment")
    with _noting(silence):
        yield


@contextmanager
def _noting(silence: BrokerSilence) -> Iterator[None]:
    try:
        yield
    except NoAnswer:
        silence.begin()
        raise
