"""The mail pipeline as PgQueuer entrypoints: each runs a step in a thread, then enqueues the job of the next one."""

import asyncio
import json
from datetime import timedelta
from functools import partial
from itertools import islice
from typing import Any

import asyncpg
import uvloop
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgDriver
from pgqueuer.executors import DatabaseRetryEntrypointExecutor
from pgqueuer.queries import Queries

from bench.peers import mail_steps, program, with_pgqueuer


class Sender(with_pgqueuer.Sender):
    """Enqueues messages."""

    async def fill(self, _job: str, jobs: int) -> None:
        """The file's next messages, a thousand per statement."""
        for size in program.batches(jobs):
            payloads = [_payload(*message) for message in islice(mail_steps.messages(), size)]
            await self.queries.enqueue(["ingest"] * size, payloads, [0] * size)


async def work(batch: str, at_once: str) -> None:
    """Take batches of so many, hold so many at once; threads of the event loop's own run them."""
    driver = AsyncpgDriver(await asyncpg.connect(program.DATABASE_URL))
    pgq, queries = PgQueuer(driver), Queries(driver)
    entrypoint = partial(pgq.entrypoint, executor_factory=DatabaseRetryEntrypointExecutor)

    @entrypoint("ingest")
    async def ingest(job: Any) -> None:  # noqa: ANN401  # the peer's own type
        await asyncio.to_thread(mail_steps.ingest, *json.loads(job.payload))
        await queries.enqueue("classify", job.payload)

    @entrypoint("classify")
    async def classify(job: Any) -> None:  # noqa: ANN401  # the peer's own type
        box_id, message_id = json.loads(job.payload)
        if thread_id := await asyncio.to_thread(mail_steps.classify, box_id, message_id):
            await queries.enqueue("draft", _payload(box_id, thread_id))

    @entrypoint("draft")
    async def draft(job: Any) -> None:  # noqa: ANN401  # the peer's own type
        await asyncio.to_thread(mail_steps.draft, *json.loads(job.payload))

    await pgq.run(batch_size=int(batch), dequeue_timeout=timedelta(seconds=5), max_concurrent_tasks=int(at_once))


def _payload(*values: str) -> bytes:
    return json.dumps(values).encode()


if __name__ == "__main__":
    client = partial(with_pgqueuer.client, Sender)
    program.main(program.Program(client, with_pgqueuer.install, work, run=uvloop.run))
