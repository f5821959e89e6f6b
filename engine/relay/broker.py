"""What the relay reads from the broker: its epoch, a mark that is lost with its data, and how much each queue holds."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import structlog

import celeryconfig
from domain.jobs.urls.broker_urls import is_rabbitmq, is_redis
from engine.broker.broker_silence import BrokerSilence
from engine.broker.clients_queues import NOT_FOUND, unusable
from engine.broker.connection_errors import AWAY, MISTAKES, NotMade, cause_of, is_mistake, making
from engine.broker.publisher import ANSWER_WITHIN_S, connect_to
from engine.broker.redis_client import connect_to_redis
from engine.runtime import Runtime
from observability.log_limit import LogLimit

log = structlog.get_logger(__name__)

KEY = "postroom:epoch"
"""The key of the mark in Redis, and what the name of the marking queue in RabbitMQ begins with."""

QUORUM = {"x-queue-type": "quorum"}
"""As the fleet's own queues (celeryconfig): the mark must not be lost where they are kept."""

EPOCH, DEPTHS = "epoch", "depths"
"""What the relay asks; each of them may fail by itself."""


class BrokerAway(Exception):
    """The broker cannot be asked now, or could not because of a mistake of ours, the cause; the log has it."""


class Broker:
    """The relay's own look at the broker. In Redis a key holds the epoch, in RabbitMQ the name of an empty queue.

    Other brokers have none, and the hint timeout must do.
    """

    def __init__(self, runtime: Runtime) -> None:
        """Take the broker's address from the process's settings; nothing connects yet."""
        self._url = runtime.settings.broker_url.get_secret_value()
        self._names = runtime.broker_names
        self._silence = BrokerSilence()
        self._said = {question: LogLimit() for question in (EPOCH, DEPTHS)}
        """One for each: a broker that takes no writes answers the second question and not the first."""

    def read_or_set_epoch(self, fresh: str, known: str | None) -> str | None:
        """The epoch that stands in the broker, after setting `fresh` if there was none; None without a mark.

        `known` is the epoch that was there before. Raises `BrokerAway`.
        """
        if not is_redis(self._url) and not is_rabbitmq(self._url):
            return None
        with self._asked(EPOCH):
            return self._key(fresh) if is_redis(self._url) else self._queue(fresh, known)

    def depths(self, queues: Sequence[str]) -> Mapping[str, int]:
        """How many messages wait in each queue; what a worker has prefetched is not among them. Raises `BrokerAway`."""
        with self._asked(DEPTHS):
            if not is_redis(self._url):
                return {queue: self._declared_depth(queue) for queue in queues}
            pipeline = self._redis.pipeline(transaction=False)
            for queue in queues:
                pipeline.llen(self._names.name(queue))
            return dict(zip(queues, pipeline.execute(), strict=True))

    def close(self) -> None:
        """Close what is open; the next look connects anew."""
        connection = vars(self).pop("_connection", None)
        if connection is not None:
            connection.release()
        redis = vars(self).pop("_redis", None)
        if redis is not None:
            redis.close()

    @contextmanager
    def _asked(self, question: str) -> Iterator[None]:
        """Log a broker that is away, and that it is back: the relay asks several times a second."""
        try:
            with self._one_question():
                yield
        except BrokerAway as away:
            if self._said[question].note(time.monotonic()):
                if away.__cause__ is not None and is_mistake(away.__cause__):
                    log.exception("broker_not_asked", asked=question, error=str(away), exc_info=away.__cause__)
                else:
                    log.warning("broker_unavailable", asked=question, cause=str(away))
            raise
        if self._said[question].end():
            log.warning("recovered", asked=question, symptom="broker_unavailable")

    @contextmanager
    def _one_question(self) -> Iterator[None]:
        if self._silence.lasts:  # or the relay would be at nothing else, and lose its leadership
            raise BrokerAway("it did not answer")
        try:
            with self._silence.noting(ANSWER_WITHIN_S):
                with making():
                    self._redis if is_redis(self._url) else self._connection
                yield
        except (NotMade, *AWAY, *MISTAKES) as error:
            # A connection that broke once never works again.
            broken = vars(self).pop("_connection", None)
            if broken is not None:
                broken.release()
            raise BrokerAway(type(error).__name__ if is_mistake(error) else cause_of(error)) from error

    def _declared_depth(self, queue: str) -> int:
        channel = self._connection.channel()
        try:
            return int(channel.queue_declare(queue=self._names.name(queue), passive=True).message_count)
        except self._connection.channel_errors:
            return 0  # no worker has declared it yet
        finally:
            channel.close()

    def _key(self, fresh: str) -> str | None:
        self._redis.set(KEY, fresh, nx=True)
        value = self._redis.get(KEY)
        return value.decode() if isinstance(value, bytes) else None

    def _queue(self, fresh: str, known: str | None) -> str:
        """A queue and not a message: whoever reads a message takes it away for a moment, and may die with it."""
        self._connection.ensure_connection(max_retries=1, interval_start=0)
        if known is not None and self._stands(known):
            return known
        with self._connection.channel() as channel:
            # The fleet's queues are gone too, and what is sent to a queue that is not there vanishes without a word.
            for queue in celeryconfig.task_queues:
                queue(channel).declare()
            unusable(self._connection, celeryconfig.task_queues)
            channel.queue_declare(f"{KEY}:{fresh}", durable=True, auto_delete=False, arguments=QUORUM)
        return fresh

    def _stands(self, epoch: str) -> bool:
        with self._connection.channel() as channel:
            try:
                channel.queue_declare(f"{KEY}:{epoch}", passive=True)
            except self._connection.channel_errors as error:
                if getattr(error, "reply_code", None) != NOT_FOUND:
                    raise
                return False
        return True

    @cached_property
    def _redis(self) -> Any:  # noqa: ANN401 - redis types its commands as sync or async at once
        return connect_to_redis(self._url, ANSWER_WITHIN_S)

    @cached_property
    def _connection(self) -> Any:  # noqa: ANN401 - Celery ships no types
        made = connect_to(self._url)
        made.ensure_connection(max_retries=1, interval_start=0)
        return made
