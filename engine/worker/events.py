"""Events of workers, sent once: a broker that does not answer is lost, whoever asked it.

Celery sends a worker's heartbeat event again and again, in a timer of the event loop. While the broker is frozen, the
ledger loop would stand still meanwhile, for as long as that lasts, and the worker could not even be stopped.
"""

from typing import Any

from celery.app.events import Events
from celery.events.dispatcher import EventDispatcher


class FleetDispatcher(EventDispatcher):  # type: ignore[misc] # Celery ships no types
    """Leaves a broken connection to the consumer, which makes all its connections anew and waits for the broker."""

    buffer_while_offline: bool

    def send(self, *arguments: Any, retry: bool = False, **fields: Any) -> None:  # noqa: ANN401 - Celery's signature
        """Send an event; one that Celery would repeat raises the connection's error instead."""
        buffers, self.buffer_while_offline = self.buffer_while_offline, not retry
        try:
            super().send(*arguments, **fields)
        finally:
            self.buffer_while_offline = buffers


class FleetEvents(Events):  # type: ignore[misc] # Celery ships no types
    """Where the app finds its class of dispatchers."""

    dispatcher_cls = FleetDispatcher
