"""Celery's consumer, made to outlive what Celery's own does not: messages of any shape, and a broker that goes away."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import structlog
from celery.worker import state
from celery.worker.control import inspect_command
from kombu.common import ignore_errors
from kombu.exceptions import ContentDisallowed, DecodeError

from engine.celery_patches.buffered_events import BufferedEvents
from engine.celery_patches.prefork_sentinels import watch_again
from engine.celery_patches.redis_transport import MISSHAPEN, FleetQoS
from engine.process.hints import is_ours
from engine.process.refused_messages import record_refusal
from engine.process.runtime import runtime
from engine.worker import adoption
from engine.worker.loop import LedgerLoop
from observability import logs

log = structlog.get_logger(__name__)


class FleetConsumer(BufferedEvents):
    """Records what it must refuse, and goes on. Celery's own would log the content, which may hold a secret."""

    def __init__(self, *arguments: Any, **options: Any) -> None:  # noqa: ANN401 - Celery's signature
        """One ledger loop for all the connections that this consumer will have."""
        super().__init__(*arguments, **options)
        self.ledger_loop = LedgerLoop(runtime())
        self._outage_timers: set[Any] = set()

    def register_with_event_loop(self, hub: Any) -> None:  # noqa: ANN401 - Celery ships no types
        """Let the ledger loop take part in the event loop."""
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

    def on_close(self) -> None:
        """Let Celery forget what it had not handed to children yet, and give the claims on it back.

        Celery's event loop was reset with the connection, and half-written messages to children with it.
        """
        super().on_close()
        if self.pool.flush:
            self.ledger_loop.take_back_unsent()

    def ensure_connected(self, conn: Any) -> Any:  # noqa: ANN401 - Celery ships no types
        """Wait for the broker for as long as it takes; meanwhile jobs that end are settled."""

        def log_retry(error: BaseException, interval: float) -> None:
            log.warning("broker_unavailable", error=type(error).__name__, again_in_s=interval)

        return conn.ensure_connection(log_retry, None, callback=self._meanwhile)

    def drain(self, until: Callable[[], float]) -> None:
        """Claim nothing more and wait for what runs, in the event loop, to settle it as it ends."""
        self.ledger_loop.stop()
        if self.task_consumer is not None:
            ignore_errors(self.connection, self.task_consumer.cancel)
        while not self.ledger_loop.idle and time.monotonic() < until():
            self._one_round()
        ignore_errors(self.connection, self.send_events)

    def _meanwhile(self) -> None:
        state.maybe_shutdown()
        self.controller.check_threads()
        if self.restart_count > 0:
            self._one_round()

    def _one_round(self) -> None:
        """One round of the event loop while Celery's own stands still; a lost broker must not end it."""
        try:
            with self._lasting_timers():
                next(self.hub.create_loop())
        except self.connection_errors as error:
            log.warning("broker_lost", error=type(error).__name__)
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

    def create_task_handler(self, *arguments: Any, **options: Any) -> Callable[[Any], None]:  # noqa: ANN401 - as above
        """Celery's handler of messages; one that it stumbles over is recorded and put aside."""
        handle = super().create_task_handler(*arguments, **options)

        def handle_any(message: Any) -> None:  # noqa: ANN401 - a kombu message
            try:
                if _is_task(message):
                    handle(message)
                else:
                    self._refuse(message, "body", "is not [arguments, keyword arguments, options]")
            except MISSHAPEN as error:
                self._refuse(message, "message", error)

        return handle_any

    def on_unknown_message(self, _body: object, message: Any) -> None:  # noqa: ANN401 - a kombu message
        """Record a message that is no task message of Celery's."""
        self._refuse(message, "headers", "name no task")

    def on_invalid_task(self, _body: object, message: Any, exc: BaseException) -> None:  # noqa: ANN401 - as above
        """Record a message whose fields or kind of content Celery does not take."""
        self._refuse(message, "content_type" if isinstance(exc, ContentDisallowed) else "message", exc)

    def on_decode_error(self, message: Any, exc: BaseException) -> None:  # noqa: ANN401 - as above
        """Record a message whose body cannot be decoded."""
        self._refuse(message, "content_type" if isinstance(exc, ContentDisallowed) else "body", exc)

    def on_unknown_task(self, _body: object, message: Any, _exc: BaseException) -> None:  # noqa: ANN401 - as above
        """Make a job of an unknown type a dead letter, and record what is no job at all.

        A hint's job is in the ledger, and of a type that the fleet knows: it waits there for a newer worker.
        """
        if is_ours(message.headers):
            self.ledger_loop.received(message)
            return
        try:
            document = message.payload
        except (DecodeError, ContentDisallowed) as error:
            self.on_decode_error(message, error)
            return
        message.reject_log_error(log, self.connection_errors)
        task, task_id = _names(message)
        adoption.write_dead_letter(runtime(), task, task_id, document)

    def on_connection_error_after_connected(self, exc: BaseException) -> None:
        """Let go of a lost connection without pushing messages back through it.

        kombu would try on closing, fail where no socket is, and end the worker; the broker or the relay brings the
        messages back.
        """
        if self.task_consumer is not None:
            self.task_consumer.channel.do_restore = False
        super().on_connection_error_after_connected(exc)
        self._leave_broker()

    def _refuse(self, message: Any, field: str, problem: BaseException | str) -> None:  # noqa: ANN401 - a kombu message
        message.reject_log_error(log, self.connection_errors)
        reason = problem if isinstance(problem, str) else logs.sanitise(problem)
        record_refusal(runtime(), *_names(message), field, reason)


@inspect_command()  # type: ignore[untyped-decorator] # Celery ships no types
def ledger(state: Any) -> dict[str, object]:  # noqa: ANN401 - Celery's panel
    """How this worker stands to the ledger: `celery -A tasks inspect ledger`."""
    health: dict[str, object] = state.consumer.ledger_loop.health()
    return health


def _timers(hub: Any) -> set[Any]:  # noqa: ANN401 - kombu ships no types
    return {scheduled.entry for scheduled in hub.timer.queue}


def _is_task(message: Any) -> bool:  # noqa: ANN401 - a kombu message
    """Whether a body of Celery's second protocol has its shape; what cannot be decoded is for Celery's handler to find.

    Celery itself finds a wrong shape in the pool only, and reports it to nobody. A hint's body is never read.
    """
    if is_ours(message.headers):
        return True
    try:
        body = message.payload
    except (DecodeError, ContentDisallowed):
        return True
    return not isinstance(body, list) or [type(part) for part in body[:2]] == [list, dict]


def _names(message: Any) -> tuple[str, str]:  # noqa: ANN401 - a kombu message
    """The task and the id that a message's headers claim."""
    headers = message.headers if isinstance(message.headers, dict) else {}
    return str(headers.get("task")), str(headers.get("id"))
