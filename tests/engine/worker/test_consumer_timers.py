"""Timers while the broker is away: ours go on, those of what runs too, and a reconnection leaves as many as before."""

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from celery.worker.consumer import Consumer as CeleryConsumer
from celery.worker.loops import _cancel_timer_entries, _timer_entries
from kombu.asynchronous import Hub

from engine.celery_patches.buffered_events import MOST_EVENTS
from engine.worker.consumer import FleetConsumer

MAINTENANCE_S = 5.0


class Pool:
    """A prefork pool's part in the event loop: it sets its timer anew each time it is asked to take part."""

    _pool = None

    def register_with_event_loop(self, hub: Any) -> None:  # noqa: ANN401 - kombu ships no types
        hub.call_repeatedly(MAINTENANCE_S, self.maintain)

    def maintain(self) -> None:
        """Called by the timer."""


class Loop:
    """The ledger loop's part: a timer of its own from the first connection on."""

    def __init__(self) -> None:
        self.attached = 0

    def attach(self, consumer: Any) -> None:  # noqa: ANN401 - Celery ships no types
        self.attached += 1
        if self.attached == 1:
            consumer.hub.call_repeatedly(1.0, self.check)

    def check(self) -> None:
        """Called by the timer."""


class Consumer(FleetConsumer):
    """Ours without Celery's connections."""

    def __init__(self, hub: Any) -> None:  # noqa: ANN401 - kombu ships no types
        self.hub, self.pool = hub, Pool()
        self.ledger_loop: Any = Loop()
        self.connection_errors = (ConnectionError,)
        self.event_dispatcher: Any = None
        self._events_wait = False
        self.timer_entries_before_start = _timer_entries(hub.timer)
        self._outage_timers = set()

    def connect(self) -> set[Any]:
        """What Celery's loop does with a fresh connection; returns the entries it takes for that connection's own."""
        self.timer_entries_before_start = _timer_entries(self.hub.timer)
        self.pool.register_with_event_loop(self.hub)
        self.hub.call_repeatedly(10.0, print)  # kombu's, for this connection
        self.register_with_event_loop(self.hub)
        after: set[Any] = _timer_entries(self.hub.timer)
        lasting: set[Any] = self.timer_entries_before_start
        return after - lasting

    def lose(self, own: set[Any]) -> None:
        """What Celery and ours do when it is lost."""
        _cancel_timer_entries(self.hub.timer, own)
        self._leave_broker()


@pytest.fixture
def consumer(monkeypatch: pytest.MonkeyPatch) -> Iterator[Consumer]:
    monkeypatch.setattr(CeleryConsumer, "register_with_event_loop", lambda *_: None)
    hub = Hub()
    yield Consumer(hub)
    hub.close()


def alive(hub: Any, *functions: Callable[..., object]) -> int:  # noqa: ANN401 - kombu ships no types
    """Entries that will still call one of these."""
    names = {function.__name__ for function in functions}
    return sum(
        not entry.canceled and getattr(entry.fun, "__wrapped__", entry.fun).__name__ in names | {"_reschedules"}
        for entry in _timer_entries(hub.timer)
    )


def test_the_timers_are_as_many_after_each_outage(consumer: Consumer) -> None:
    counts = []
    for _ in range(4):
        own = consumer.connect()
        counts.append(alive(consumer.hub, Pool.maintain, Loop.check, print))
        consumer.lose(own)
        counts.append(alive(consumer.hub, Pool.maintain, Loop.check, print))
    assert counts == [3, 2] * 4


def test_a_timer_that_is_set_while_the_broker_is_away_outlives_the_next_outage(consumer: Consumer) -> None:
    consumer.lose(consumer.connect())
    consumer.timer_entries_before_start = _timer_entries(consumer.hub.timer)
    consumer.hub.call_soon(lambda: consumer.hub.call_later(60, print))
    consumer._one_round()  # noqa: SLF001 - what Celery calls while it reconnects
    limits = [entry for entry in _timer_entries(consumer.hub.timer) if entry.fun is print]
    assert len(limits) == 1
    own = consumer.connect() | (_timer_entries(consumer.hub.timer) - consumer.timer_entries_before_start)
    consumer.lose(own)
    assert not limits[0].canceled


def test_events_are_gathered_and_sent_once(consumer: Consumer) -> None:
    sent: list[int] = []
    consumer.event_dispatcher = SimpleNamespace(flush=lambda: sent.append(1), buffer_limit=0)
    consumer.connect()
    assert consumer.event_dispatcher.buffer_limit == MOST_EVENTS
    before = _timer_entries(consumer.hub.timer)
    for _ in range(5):
        consumer.on_send_event_buffered()
    (timer,) = _timer_entries(consumer.hub.timer) - before
    timer()
    assert sent == [1]
    consumer.on_send_event_buffered()
    assert len(_timer_entries(consumer.hub.timer) - before - {timer}) == 1


def test_after_a_reconnection_events_are_sent_again(consumer: Consumer) -> None:
    consumer.event_dispatcher = SimpleNamespace(flush=lambda: None, buffer_limit=0)
    own = consumer.connect()
    consumer.on_send_event_buffered()
    consumer.lose(own)
    consumer.connect()
    before = _timer_entries(consumer.hub.timer)
    consumer.on_send_event_buffered()
    assert len(_timer_entries(consumer.hub.timer) - before) == 1
