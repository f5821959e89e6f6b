"""Celery's consumer, sending events of tasks together.

Celery sends them with every round of the event loop, which costs a round trip to the broker per job. Its consumer has
a callback for each buffered event, and no public way to send what is buffered.
"""

from typing import Any

from celery.worker.consumer import Consumer

PRIVATE = ("celery.worker.consumer.consumer:Consumer._flush_events",)

EVENTS_S = 0.1
"""How long events of tasks are gathered; nobody who watches Flower notices."""

MOST_EVENTS = 200
"""They are sent before that when there are so many."""


class BufferedEvents(Consumer):  # type: ignore[misc] # Celery ships no types
    """A consumer that gathers events for a moment."""

    _events_wait = False

    def register_with_event_loop(self, hub: Any) -> None:  # noqa: ANN401 - Celery ships no types
        """Begin anew: the timers of a lost connection are gone."""
        super().register_with_event_loop(hub)
        self._events_wait = False
        if self.event_dispatcher is not None:
            self.event_dispatcher.buffer_limit = MOST_EVENTS

    def on_send_event_buffered(self) -> None:
        """Send the event with those that come in the next moment."""
        if not self._events_wait:
            self._events_wait = True
            self.hub.call_later(EVENTS_S, self.send_events)

    def send_events(self) -> None:
        """Send what is buffered."""
        self._events_wait = False
        self._flush_events()
