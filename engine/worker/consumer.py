"""Celery's consumer, made to outlive what Celery's own does not: messages of any shape, and a broker that goes away."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import structlog
from celery.worker import state
from kombu.common import ignore_errors
from redis.exceptions import DataError

from domain.jobs.monitoring.liveness import WorkerCondition
from engine.broker.hints import Unreadable
from engine.celery_patches.buffered_events import BufferedEvents
from engine.celery_patches.prefork_sentinels import watch_again
from engine.celery_patches.redis_transport import FleetQoS
from engine.messages import border
from engine.messages.refused_messages import content_of, record_refusal
from engine.runtime import runtime
from engine.worker import inspection  # noqa: F401  # registers what the worker answers
from engine.worker.loop import LedgerLoop
from observability.connection_diagnosis import diagnosis_of

log = structlog.get_logger(__name__)

MOST_BETWEEN_TRIES_S = 5.0
"""How long a worker waits between two tries to reach its broker, at most; kombu's own 30 s are all that promise P11
leaves for going on with the work. And how long at least, when the broker is reached and refuses what is asked of it."""

MISTAKES = (DataError,)
"""What kombu takes for an answer of the broker's, and is a value of ours that redis-py cannot send."""


class FleetConsumer(BufferedEvents):
    """Records what it must refuse, and goes on. Celery's own would log the content, which may hold a secret."""

    restart_count: int
    """Celery's own: of connections, the first one is 0."""
    connection_errors: tuple[type[BaseException], ...]
    """Celery's own: what is an outage."""

    def __init__(self, *arguments: Any, **options: Any) -> None:  # noqa: ANN401 - Celery's signature
        """One ledger loop for all the connections that this consumer will have.

        A broker that refuses what every worker asks (a replica, a full memory, a login without rights) is waited for as
        one that is away: somebody will mend it, and the jobs are in PostgreSQL.
        """
        super().__init__(*arguments, **options)
        refusals = (kind for kind in self.channel_errors if kind not in MISTAKES)
        self.connection_errors = (*self.connection_errors, *refusals)
        self._connects_at = 0.0
        self.ledger_loop = LedgerLoop(runtime())
        self._outage_timers: set[Any] = set()
        self.broker_lost_at: float | None = None
        """Since when the broker has been away, by the monotonic clock; None while it is there."""
        self._waited = False
        """Whether the broker was ever waited for."""

    def register_with_event_loop(self, hub: Any) -> None:  # noqa: ANN401 - Celery ships no types
        """Let the ledger loop take part in the event loop."""
        self.broker_lost_at = None
        super().register_with_event_loop(hub)
        for entry in self._outage_timers:
            hub.timer.cancel(entry)  # the pool has just set its own again
        self._outage_timers.clear()
        with self._lasting_timers():
            self.ledger_loop.attach(self)

    def ask_for(self, messages: int) -> None:
        """Let the broker keep so many messages open with us."""
        qos = getattr(self.task_consumer.channel, "qos", None)
        if isinstance(qos, FleetQoS):
            qos.appetite = messages
        else:
            # Each change is a round trip in AMQP, and 0 would mean without bound.
            self.qos.value = 1 << max(0, messages - 1).bit_length()

    def served_queues(self) -> Sequence[str]:
        """The queues that this worker serves, by their names in the ledger."""
        return runtime().broker_names.served({queue.name for queue in self.task_consumer.queues})

    def condition(self) -> WorkerCondition | None:
        """What the watchdog looks at, from its thread; None before the ledger loop takes part in the event loop."""
        return self.ledger_loop.condition(self.broker_age_s) if self.ledger_loop.attached else None

    @property
    def broker_age_s(self) -> float:
        """For how long the broker has owed an answer; 0 when it owes none, or is known to be away."""
        asked_at = getattr(getattr(self.task_consumer, "channel", None), "asked_at", None)
        return 0.0 if asked_at is None else time.monotonic() - asked_at

    def on_close(self) -> None:
        """Let Celery forget what it had not handed to children yet, and give the claims on it back.

        Celery's event loop was reset with the connection, and half-written messages to children with it.
        """
        super().on_close()
        if self.pool.flush:
            self.ledger_loop.pool.take_back_unsent()

    def connect(self) -> Any:  # noqa: ANN401 - Celery ships no types
        """Connect, but not again and again to a broker that takes each connection and refuses what comes next."""
        while time.monotonic() < self._connects_at:
            self._meanwhile()
        self._connects_at = time.monotonic() + MOST_BETWEEN_TRIES_S
        connection = self.connection_for_read(heartbeat=self.amqheartbeat)
        with ExitStack() as refused:
            # Celery's own leaves the sockets of a connection open that is made and then refused, with each try more.
            refused.callback(connection.collect)
            if self.hub:
                connection.transport.register_with_event_loop(connection.connection, self.hub)
            refused.pop_all()
        return connection

    def ensure_connected(self, conn: Any) -> Any:  # noqa: ANN401 - Celery ships no types
        """Wait for the broker for as long as it takes; meanwhile jobs that end are settled."""
        connected = conn.ensure_connection(
            self._note_lost_broker, None, interval_max=MOST_BETWEEN_TRIES_S, callback=self._meanwhile
        )
        # Celery ends a worker of which a child has died before its first connection: it takes that for a pool that
        # cannot start. The pool replaces a child that died while the broker was waited for.
        self.restart_count = max(self.restart_count, 1 if self._waited else 0)
        return connected

    def drain(self, until: Callable[[], float]) -> None:
        """Claim nothing more and wait for what runs, in the event loop, to settle it as it ends."""
        self.ledger_loop.stop()
        if self.task_consumer is not None:
            ignore_errors(self, self.task_consumer.cancel)
        while not self.ledger_loop.idle and time.monotonic() < until():
            self._one_round()
        ignore_errors(self, self.send_events)

    def _meanwhile(self) -> None:
        self._waited = True
        state.maybe_shutdown()
        self.controller.check()
        if self.restart_count > 0:
            self._one_round()

    def _one_round(self) -> None:
        """One round of the event loop while Celery's own stands still; a lost broker must not end it."""
        try:
            with self._lasting_timers():
                next(self.hub.create_loop())
        except self.connection_errors as error:
            log.warning("broker_lost", error=type(error).__name__, cause=diagnosis_of(error).finding)
            self._leave_broker()

    @contextmanager
    def _lasting_timers(self) -> Iterator[None]:
        """Keep the timers that are set meanwhile when the connection is lost.

        They are the ledger loop's, and time limits of what runs; Celery takes all that are set while it connects for
        the connection's own, and cancels them with it.
        """
        before = _timers(self.hub)
        try:
            yield
        finally:
            self.timer_entries_before_start |= _timers(self.hub) - before

    def _leave_broker(self) -> None:
        """Take everything of the lost connection out of the event loop, and leave the pool in it."""
        self.hub.reset()
        # The pool's own stays: it registers that one only once.
        self.hub.on_tick.difference_update([tick for tick in self.hub.on_tick if tick.__module__.startswith("kombu.")])
        before = _timers(self.hub)
        watch_again(self.pool)
        self.pool.register_with_event_loop(self.hub)
        self._outage_timers |= _timers(self.hub) - before

    def create_task_handler(self, *_arguments: Any, **_options: Any) -> Callable[[Any], None]:  # noqa: ANN401 - as above
        """Not Celery's, which trusts a message's shape and makes requests of it: the ledger loop takes all."""
        return self.ledger_loop.received

    def on_decode_error(self, message: Any, exc: BaseException) -> None:  # noqa: ANN401 - as above
        """Refuse what kombu could not even make a message of, and messages between workers that it cannot read."""
        message.reject_log_error(log, self.connection_errors)
        refusal = border.refuse(message, Unreadable("message", type(exc).__name__))
        record_refusal(runtime(), refusal, content_of(message))

    def on_connection_error_after_connected(self, exc: BaseException) -> None:
        """Let go of a lost connection without pushing messages back through it.

        kombu would try on closing, fail where no socket is, and end the worker; the broker or the relay brings the
        messages back.
        """
        self._note_lost_broker(exc, self._pause_s)
        if self.task_consumer is not None:
            self.task_consumer.channel.do_restore = False
        super().on_connection_error_after_connected(exc)
        self._leave_broker()

    def on_connection_error_before_connected(self, exc: BaseException) -> None:
        """Say why no connection came about; Celery's own words repeat what the broker said without a limit."""
        self._note_lost_broker(exc, self._pause_s)

    @property
    def _pause_s(self) -> float:
        """How long the next try waits."""
        return max(0.0, round(self._connects_at - time.monotonic(), 1))

    def _note_lost_broker(self, error: BaseException, again_in_s: float) -> None:
        self.broker_lost_at = self.broker_lost_at or time.monotonic()
        found = diagnosis_of(error)
        log.warning("broker_unavailable", cause=found.finding, remedy=found.remedy, again_in_s=again_in_s)


def _timers(hub: Any) -> set[Any]:  # noqa: ANN401 - kombu ships no types
    return {scheduled.entry for scheduled in hub.timer.queue}
