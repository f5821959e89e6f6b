"""A connection by the transport of its URL's scheme, that is shown under this scheme.

Celery takes the transport from its settings and the URL from where it finds one first, such as its own `-b` or
`CELERY_BROKER_URL`: a `rediss://` from there would be spoken in plaintext by the transport of a `redis://` from here.
That it is the broker of our settings is the app's to see to (engine/app.py); here the URL itself is checked.

kombu shows a connection under its transport's name, and ours are named by their modules: Flower knows no broker of such
a scheme, and an operator reads `redis://` sooner than a path of modules.

A broker may take every connection and refuse what is asked of it. Celery takes these errors for none of a connection's,
and ends the worker with them.
"""

from collections.abc import Collection, Sequence
from typing import Any

import structlog
from celery.app.amqp import AMQP, Queues
from celery.exceptions import ImproperlyConfigured
from kombu import Connection
from kombu.exceptions import OperationalError
from pydantic import SecretStr
from redis.exceptions import NoPermissionError, ReadOnlyError

import celeryconfig
from domain.jobs.queues import CLIENTS_NAMES, PLAIN
from domain.jobs.urls.broker_urls import checked_broker_url
from engine.broker.clients_queues import unusable
from engine.broker.transport_names import transports_of

log = structlog.get_logger(__name__)

REFUSALS = (NoPermissionError, ReadOnlyError, OperationalError)
"""How Redis refuses what every worker asks, and what kombu makes of a refusal while it publishes."""


class InvalidBroker(ImproperlyConfigured, ValueError):  # type: ignore[misc] # Celery ships no types
    """For a URL by which no connection can be made; Celery's commands end with its words, and others as for a value."""


class FleetConnection(Connection):  # type: ignore[misc] # kombu ships no types
    """A connection of the app's, for workers, beat and Flower."""

    def __init__(self, hostname: str | None = "localhost", *arguments: Any, **options: Any) -> None:  # noqa: ANN401 - kombu's signature
        """Prepare; `hostname` is a URL, or in a copy of a connection the host, whose transport is handed over."""
        given = hostname or ""
        if "://" in given:
            _check(given)
        names = transports_of(given)
        super().__init__(hostname, *arguments, **(options | ({} if names is None else {"transport": names.apps})))

    @property
    def connection_errors(self) -> tuple[type[Exception], ...]:
        """What ends a worker's event loop, and lets the consumer wait for the broker (engine/worker/consumer.py).

        In a timer, such as that of heartbeats, Celery logs anything else with a traceback, each time anew. A full
        memory is not among them: who takes messages makes room in it.
        """
        return (*super().connection_errors, *REFUSALS)

    def as_uri(self, *arguments: Any, **options: Any) -> str:  # noqa: ANN401 - kombu's signature
        """The broker's URL, by default without its password."""
        shown: str = super().as_uri(*arguments, **options)
        scheme = getattr(self.transport, "scheme", None)
        return f"{scheme}://{shown.partition('://')[2]}" if scheme else shown


def _check(url: str) -> None:
    """Raise what is wrong with a URL, before kombu does so in words that hold a part of its password."""
    try:
        checked_broker_url(SecretStr(url))
    except ValueError as error:
        raise InvalidBroker(f"the broker's URL: {error}") from None


class FleetQueues(Queues):  # type: ignore[misc] # Celery ships no types
    """Which queues a worker consumes: with each of the fleet's, those that clients send its jobs to."""

    def select(self, include: Collection[str] | None) -> None:
        """Consume these alone; what `worker -Q` names."""
        super().select(_with_clients_names(include))

    def deselect(self, exclude: Collection[str] | None) -> None:
        """Consume all but these; what `worker -X` names."""
        super().deselect(_with_clients_names(exclude))


def _with_clients_names(names: Collection[str] | None) -> Sequence[str]:
    given = names or ()
    chosen = [celeryconfig.NAMES.queue(name) or PLAIN.queue(name) for name in given]
    return [*given, *(name for name, queue in CLIENTS_NAMES.items() if queue in chosen)]


class FleetAmqp(AMQP):  # type: ignore[misc] # Celery ships no types
    """Where the app finds its classes of connections and queues."""

    queues_cls = FleetQueues
    Connection = FleetConnection
    BrokerConnection = FleetConnection

    def TaskConsumer(self, channel: Any, **options: Any) -> Any:  # noqa: N802, ANN401 - Celery's name and types
        """What a worker takes messages by: from all queues that it may consume."""
        queues = list(self.queues.consume_from.values())
        refused = unusable(channel, queues)
        for name, cause in refused.items():
            log.warning("queue_not_consumed", queue=name, cause=cause)
        return super().TaskConsumer(channel, queues=[one for one in queues if one.name not in refused], **options)
