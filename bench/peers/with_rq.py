"""RQ: workers that do not fork for each job, no results kept."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from redis import Redis
from rq import Queue
from rq.worker import SimpleWorker

from bench import measured_job
from bench.peers import program


def noop() -> None:
    """Count one job."""
    measured_job.count()


def io_bound() -> None:
    """Wait, then count one job."""
    measured_job.wait(program.WAIT_S)


def note(sent_ns: int) -> None:
    """Record the latency."""
    measured_job.record_latency(sent_ns)


class Sender:
    """Enqueues by `enqueue_many`."""

    def __init__(self, queue: Any) -> None:  # noqa: ANN401  # the peer's own type
        """Use a queue."""
        self._queue = queue

    async def fill(self, job: str, jobs: int) -> None:
        """A thousand per pipeline."""
        for size in program.batches(jobs):
            self._queue.enqueue_many([Queue.prepare_data(_path(job), result_ttl=0) for _ in range(size)])

    async def send(self, job: str, *arguments: int) -> None:
        """One message."""
        self._queue.enqueue_call(_path(job), args=arguments, result_ttl=0)


@asynccontextmanager
async def client() -> AsyncIterator[Sender]:
    """Connect."""
    with Redis.from_url(program.BROKER_URL) as broker:
        yield Sender(Queue("bench", connection=broker))


async def work() -> None:
    """Take one job after the other."""
    with Redis.from_url(program.BROKER_URL) as broker:
        SimpleWorker(["bench"], connection=broker).work(logging_level="ERROR")


def _path(job: str) -> str:
    return f"bench.peers.with_rq.{job}"


if __name__ == "__main__":
    program.main(program.Program(client, work=work))
