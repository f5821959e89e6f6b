"""Celery's consumer, made to outlive what Celery's own does not: messages of any shape, and a broker that goes away."""

from collections.abc import Callable
from typing import Any

import structlog
from celery.worker.consumer import Consumer
from celery.worker.loops import asynloop, synloop
from kombu.exceptions import ContentDisallowed, DecodeError

from providers import logs
from tasks import admission
from tasks.runtime import runtime

log = structlog.get_logger(__name__)

MISSHAPEN = (AttributeError, KeyError, TypeError, ValueError)
"""What Celery and kombu stumble over in a message that is not of the shape they expect."""


class FleetConsumer(Consumer):  # type: ignore[misc] # Celery ships no types
    """Records what it must refuse, and goes on. Celery's own would log the content, which may hold a secret."""

    def loop(self, *arguments: Any) -> None:  # noqa: ANN401 - Celery's signature
        """Run Celery's event loop; an envelope that kombu cannot open costs a reconnection instead of the worker.

        kombu has taken such a message off the queue before it opens it, so that it does not come back.
        """
        try:
            (asynloop if self.hub else synloop)(*arguments)
        except MISSHAPEN as error:
            log.exception("envelope_refused")
            admission.refuse(runtime(), "unknown", "unknown", "envelope", logs.sanitise(error))
            raise ConnectionResetError("an envelope could not be opened") from error

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
        """Make a job of an unknown type a dead letter, and record what is no job at all."""
        try:
            document = message.payload
        except (DecodeError, ContentDisallowed) as error:
            self.on_decode_error(message, error)
            return
        message.reject_log_error(log, self.connection_errors)
        task, task_id = _names(message)
        admission.bury_stranger(runtime(), task, task_id, document)

    def on_connection_error_after_connected(self, exc: BaseException) -> None:
        """Let go of a lost connection without pushing messages back through it.

        kombu would try on closing, fail where no socket is, and end the worker; the broker or the relay brings the
        messages back.
        """
        if self.task_consumer is not None:
            self.task_consumer.channel.do_restore = False
        super().on_connection_error_after_connected(exc)

    def _refuse(self, message: Any, field: str, problem: BaseException | str) -> None:  # noqa: ANN401 - a kombu message
        message.reject_log_error(log, self.connection_errors)
        reason = problem if isinstance(problem, str) else logs.sanitise(problem)
        admission.refuse(runtime(), *_names(message), field, reason)


def _is_task(message: Any) -> bool:  # noqa: ANN401 - a kombu message
    """Whether a body of Celery's second protocol has its shape; what cannot be decoded is for Celery's handler to find.

    Celery itself finds a wrong shape in the pool only, and tells nobody.
    """
    try:
        body = message.payload
    except (DecodeError, ContentDisallowed):
        return True
    return not isinstance(body, list) or [type(part) for part in body[:2]] == [list, dict]


def _names(message: Any) -> tuple[str, str]:  # noqa: ANN401 - a kombu message
    """The task and the id that a message's headers claim."""
    headers = message.headers if isinstance(message.headers, dict) else {}
    return str(headers.get("task")), str(headers.get("id"))
