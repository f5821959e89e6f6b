"""The commands of every peer's program. Imports the standard library only.

| command | what it does |
|---|---|
| `install` | makes the peer's tables |
| `fill JOB N` | enqueues a backlog of N jobs in bulk |
| `single N` | enqueues N jobs one by one |
| `latency N` | enqueues N jobs one by one with random gaps |
| `worker ...` | runs a worker |

`fill`, `single` and `latency` print `{"seconds": ...}` as their last line.
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from bench import measured_job

DATABASE_URL = os.environ.get("BENCH_DATABASE_URL", "")
BROKER_URL = os.environ.get("BENCH_BROKER_URL", "")
WAIT_S = 0.1
BULK = 1000


class Client(Protocol):
    """A peer's way to enqueue the jobs `noop`, `io_bound`, and `note` with the time at which it was sent."""

    async def fill(self, job: str, jobs: int) -> None:
        """Enqueue many jobs, in the fastest way that the peer documents."""

    async def send(self, job: str, *arguments: int) -> None:
        """Enqueue one job."""


@dataclass(frozen=True)
class OneByOne:
    """The client of a peer that has no call for many jobs: `enqueue(job, *arguments)` once per job."""

    enqueue: Callable[..., object]

    async def fill(self, job: str, jobs: int) -> None:
        """One message after the other."""
        for _ in range(jobs):
            self.enqueue(job)

    async def send(self, job: str, *arguments: int) -> None:
        """One message."""
        self.enqueue(job, *arguments)


@dataclass(frozen=True)
class Program:
    """A peer's program."""

    client: Callable[[], AbstractAsyncContextManager[Client]]
    install: Callable[[], Awaitable[None]] | None = None
    work: Callable[..., Awaitable[None]] | None = None
    run: Callable[[Coroutine[Any, Any, None]], None] = asyncio.run


def main(program: Program) -> None:
    """Run the command of the command line; `SystemExit` for an unknown one."""
    command, *words = sys.argv[1:]
    match command:
        case "install" if program.install:
            program.run(_await(program.install))
        case "worker" if program.work:
            program.run(_await(program.work, *words))
        case "fill" | "single" | "latency":
            program.run(_send(program, command, words))
        case _:
            raise SystemExit(f"{command}: no such command")


def batches(jobs: int) -> list[int]:
    """The batch sizes into which `jobs` jobs are split."""
    return [min(BULK, jobs - start) for start in range(0, jobs, BULK)]


async def _await(command: Callable[..., Awaitable[None]], *words: str) -> None:
    await command(*words)


async def _send(program: Program, command: str, words: list[str]) -> None:
    async with program.client() as client:
        measured_job.wait_at_start_barrier()  # in a run's folder; elsewhere there is none
        began = time.perf_counter()
        if command == "fill":
            await client.fill(words[0], int(words[1]))
        elif command == "single":
            for _ in range(int(words[0])):
                await client.send("noop")
        else:
            for gap in measured_job.gaps(int(words[0])):
                await asyncio.sleep(gap)
                await client.send("note", time.monotonic_ns())
        print(json.dumps({"seconds": time.perf_counter() - began}))  # noqa: T201  # the program's answer
