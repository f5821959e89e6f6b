"""The mail pipeline as Procrastinate tasks: each runs a step in a thread, then defers the task of the next one."""

import asyncio
from functools import partial
from itertools import islice

import procrastinate
import uvloop

from bench.peers import mail_steps, program, with_procrastinate
from bench.peers.with_procrastinate import app

task = partial(
    app.task,
    retry=procrastinate.RetryStrategy(
        max_attempts=mail_steps.MOST_RETRIES, exponential_wait=2, retry_exceptions=mail_steps.RETRIED
    ),
)


@task(name="ingest")
async def ingest(box_id: str, message_id: str) -> None:
    """Store a message, and have it classified."""
    await asyncio.to_thread(mail_steps.ingest, box_id, message_id)
    await classify.defer_async(box_id=box_id, message_id=message_id)


@task(name="classify")
async def classify(box_id: str, message_id: str) -> None:
    """Classify a message, and order a draft where a reply is due."""
    if thread_id := await asyncio.to_thread(mail_steps.classify, box_id, message_id):
        await draft.defer_async(box_id=box_id, thread_id=thread_id)


@task(name="draft")
async def draft(box_id: str, thread_id: str) -> None:
    """Write a draft into a thread."""
    await asyncio.to_thread(mail_steps.draft, box_id, thread_id)


class Sender(with_procrastinate.Sender):
    """Enqueues messages."""

    async def fill(self, _job: str, jobs: int) -> None:
        """The file's next messages, a thousand per statement."""
        for size in program.batches(jobs):
            some = islice(mail_steps.messages(), size)
            await ingest.batch_defer_async(*({"box_id": box, "message_id": message} for box, message in some))


if __name__ == "__main__":
    client = partial(with_procrastinate.client, Sender)
    program.main(program.Program(client, with_procrastinate.install, with_procrastinate.work, run=uvloop.run))
