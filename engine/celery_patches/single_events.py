"""Events of workers, each sent once: a connection that breaks meanwhile is left to the consumer.

Celery repeats a worker's heartbeat event without an end, in a timer of the event loop. While the broker is frozen, the
ledger loop would stand still for as long, and the worker could not even be stopped. Whether an event is repeated or
kept for later is decided where the dispatcher holds its lock, and no public method is called there.
"""

from typing import Any

from celery.app.events import Events
from celery.events.dispatcher import EventDispatcher

PRIVATE = ("celery.events.dispatcher:EventDispatcher._publish",)


class FleetDispatcher(EventDispatcher):  # type: ignore[misc] # Celery ships no types
    """Raises the connection's error for an event that Celery would repeat: the consumer makes its connections anew."""

    buffer_while_offline: bool

    def _publish(self, *arguments: Any, retry: bool = False, **options: Any) -> None:  # noqa: ANN401 - Celery's signature
        buffers = self.buffer_while_offline
        self.buffer_while_offline = buffers and not retry
        try:
            super()._publish(*arguments, **options)
        finally:
            self.buffer_while_offline = buffers


class FleetEvents(Events):  # type: ignore[misc] # Celery ships no types
    """Where the app finds its class of dispatchers."""

    dispatcher_cls = FleetDispatcher
