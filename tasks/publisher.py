"""Publishes hints: Celery messages that carry a job's id and type, and nothing else."""

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

import structlog
from kombu import Connection
from kombu.exceptions import BatchPublishError, LimitExceeded, OperationalError
from kombu.pools import ProducerPool

from domain.job import Hint

POOL_SIZE = 10
"""Connections to the broker per process, at most: publishing takes microseconds, so few are ever needed."""

TRANSPORT_OPTIONS = {
    "socket_connect_timeout": 5,
    # kombu's own default is to wait for ever: a publish would hang with its worker slot.
    "socket_timeout": 10,
    "health_check_interval": 10,
    # The same for RabbitMQ. Without its confirmations, which cost a round trip each: a hint may get lost.
    "read_timeout": 10,
    "write_timeout": 10,
    # And no waiting for a broker that is away: kombu would hold the caller for its six seconds of patience each time.
    "max_retries": 1,
    "interval_start": 0,
    "interval_step": 0,
}

AWAY = (BatchPublishError, LimitExceeded, OperationalError)
"""What kombu itself raises for a broker that takes no hints; the transports have more."""

ORIGIN = "postroom"
"""What a hint's header says of where it comes from."""

BUNDLE = 64
"""Light jobs per message: opening one costs as much as a light job, and a process must not take too many at once."""

TOGETHER = "job_ids"
"""The header that names all jobs of a message that speaks of several."""

log = structlog.get_logger(__name__)


class Publisher:
    """Sends hints to the broker; what it cannot send, the relay sends later."""

    def __init__(self, broker_url: str) -> None:
        """Prepare a pool of connections of this process's own; nothing connects yet."""
        self._connection = Connection(broker_url, transport_options=TRANSPORT_OPTIONS, connect_timeout=5)
        self._producers = ProducerPool(self._connection.Pool(limit=POOL_SIZE), limit=POOL_SIZE)

    def close(self) -> None:
        """Close this process's connections to the broker."""
        self._producers.force_close_all()
        self._connection.release()

    def publish(self, hints: Sequence[Hint]) -> bool:
        """Send hints in one pipelined batch; false when the broker could not take them all. Never raises for it."""
        if not hints:
            return True
        try:
            with self._producers.acquire(block=True, timeout=10) as producer, producer.batch():
                for bundle in bundles(hints):
                    self._send(producer, bundle)
        except (*AWAY, *self._connection.connection_errors, *self._connection.channel_errors) as error:
            log.warning("hints_not_published", hints=len(hints), error=type(error).__name__)
            return False
        return True

    def _send(self, producer: Any, bundle: Sequence[Hint]) -> None:  # noqa: ANN401 - Celery ships no types
        hint = bundle[0]
        message = hint_message(hint.job_type, [one.job_id for one in bundle])
        producer.publish(
            message["body"],
            routing_key=hint.queue,
            exchange="",
            headers=message["headers"],
            serializer="json",
            correlation_id=str(hint.job_id),
            delivery_mode=2,
            retry=False,
        )


def bundles(hints: Sequence[Hint]) -> Iterator[Sequence[Hint]]:
    """Hints as they travel: ordinary ones alone, light ones of one queue and type together, in their order."""
    light: dict[tuple[str, str], list[Hint]] = {}
    for hint in hints:
        if hint.light:
            light.setdefault((hint.queue, hint.job_type), []).append(hint)
        else:
            yield (hint,)
    for together in light.values():
        yield from batched(together, BUNDLE)


def batched(hints: Sequence[Hint], size: int) -> Iterator[Sequence[Hint]]:
    """Slices of at most so many."""
    return (hints[start : start + size] for start in range(0, len(hints), size))


def hint_message(job_type: str, job_ids: Sequence[UUID]) -> dict[str, Any]:
    """A hint in Celery's message protocol 2: task id = the first job's id, no arguments; further ids in a header."""
    name = str(job_ids[0])
    headers: dict[str, Any] = {
        "lang": "py",
        "task": job_type,
        "id": name,
        "root_id": name,
        "parent_id": None,
        "group": None,
        "eta": None,
        "expires": None,
        "retries": 0,
        "timelimit": [None, None],
        "argsrepr": "()",
        "kwargsrepr": "{}",
        "origin": ORIGIN,
        "ignore_result": True,
    }
    if len(job_ids) > 1:
        headers[TOGETHER] = [str(job_id) for job_id in job_ids]
    body = [[], {}, {"callbacks": None, "errbacks": None, "chain": None, "chord": None}]
    return {"headers": headers, "body": body}
