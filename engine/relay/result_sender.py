"""Sends the results of jobs to foreign clients that wait for them: into a Redis that both sides name, or by rpc://."""

import time
from functools import cached_property
from typing import Any

import structlog
from celery import Celery
from redis.exceptions import RedisError

from engine.celery_patches import tls
from engine.process.runtime import Runtime
from engine.results.metas import meta_of
from observability.connection_trouble import trouble_of
from storage.results import results
from storage.results.results import DueResult

log = structlog.get_logger(__name__)

RPC = "rpc://"

BATCH = 100
"""Results per turn: as many round trips, which keep the relay from its other work for some 20 ms."""

REST_S = 5.0
"""How long nothing is sent after a failure: the relay has other work than to wait for a server that is away."""


class ResultSender:
    """Takes due results from the ledger, sends each after its job's end was committed, and notes that it was sent.

    A process that dies in between leaves them to the next, which sends the same once more.
    """

    def __init__(self, runtime: Runtime) -> None:
        """Prepare; nothing connects yet."""
        self._runtime = runtime
        self._url = runtime.settings.results_url.get_secret_value()
        self._rests_until = 0.0

    def turn(self) -> bool:
        """Send what is due; true when there may be more at once."""
        most = BATCH if self._url and time.monotonic() >= self._rests_until else 0
        with self._runtime.database.ledger() as tx:
            due = results.take_due(tx, most=most)
        if not due:
            return False
        sent = [one.request_id for one in due if self._send(one)]
        if sent:
            with self._runtime.database.ledger() as tx:
                results.note_sent(tx, sent)
        return len(sent) == BATCH

    def _send(self, due: DueResult) -> bool:
        if time.monotonic() < self._rests_until:
            return False
        meta = meta_of(due.waiting.task_id, due.result)
        if self._url == RPC:
            reached = due.waiting.reply_to is None or self._runtime.publisher.reply(
                str(due.waiting.reply_to), due.waiting.correlation_id, meta
            )
        else:
            reached = self._store(due.waiting.task_id, meta)
        if not reached:
            self._rests_until = time.monotonic() + REST_S
        return reached

    def _store(self, task_id: str, meta: dict[str, Any]) -> bool:
        backend = self._app.backend
        key, value = backend.get_key_for_task(task_id), backend.encode(meta)
        try:
            # As Celery's backend does, which would try again for as long as a server is away.
            with backend.client.pipeline() as pipe:
                pipe.set(key, value, ex=backend.expires or None)
                pipe.publish(key, value)
                pipe.execute()
        except (OSError, RedisError) as error:
            cause = trouble_of(error, "POSTROOM_RESULTS_URL").finding
            log.warning("results_not_sent", error=type(error).__name__, cause=cause)
            return False
        return True

    @cached_property
    def _app(self) -> Any:  # noqa: ANN401 - Celery ships no types
        """An app that has nothing but the clients' result backend, with a bound on each round trip."""
        app = Celery("results", set_as_current=False)
        app.conf.update(
            result_backend=self._url,
            redis_socket_timeout=5,
            redis_socket_connect_timeout=5,
        )
        if self._url.startswith("rediss://"):
            # Without it Celery refuses a URL that says nothing of certificates. What the URL says comes first.
            app.conf.redis_backend_use_ssl = tls.redis_options(None)
        return app
