"""Sends the results of jobs to foreign clients that wait for them, into a Redis that both sides name."""

import time
from functools import cached_property
from typing import Any

import structlog
from celery import Celery
from celery.backends.redis import RedisBackend

from engine.broker.connection_errors import AWAY, MISTAKES, NotMade, log_failure, making
from engine.broker.publisher import ANSWER_WITHIN_S
from engine.broker.redis_client import connect_to_redis
from engine.results.metas import meta_of
from engine.runtime import Runtime
from storage.jobs import results
from storage.jobs.results import DueResult

log = structlog.get_logger(__name__)

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
        try:
            key = self._backend.get_key_for_task(due.task_id)
            value = self._backend.encode(meta_of(due.task_id, due.result))
            with making():
                server = self._redis
            # As Celery's backend does, which would try again for as long as a server is away.
            with server.pipeline() as pipe:
                pipe.set(key, value, ex=self._backend.expires or None)
                pipe.publish(key, value)
                pipe.execute()
        except (NotMade, *AWAY, *MISTAKES) as error:
            log_failure(log, "results_not_sent", error, "POSTROOM_RESULTS_URL")
            self._rests_until = time.monotonic() + REST_S
            return False
        return True

    @cached_property
    def _backend(self) -> Any:  # noqa: ANN401 - Celery ships no types
        """The clients' result backend, for how they name and write a result; it never connects.

        Made by its class: what an app finds by a URL, `CELERY_RESULT_BACKEND` overrides.
        """
        return RedisBackend(app=Celery("results", set_as_current=False))

    @cached_property
    def _redis(self) -> Any:  # noqa: ANN401 - redis types its commands as sync or async at once
        return connect_to_redis(self._url, ANSWER_WITHIN_S)
