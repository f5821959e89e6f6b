"""What every peer's program can do, by words on its command line; the standard library only.

`install` makes its tables, `fill JOB N` enqueues a backlog in bulk, `single N` enqueues one by one, `latency N` does so
with random gaps, `worker ...` works. Those that are timed print `{"seconds": ...}` as their last line.
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

from bench import tick

DATABASE_URL = os.environ.get("BENCH_DATABASE_URL", "")
BROKER_URL = os.environ.get("BENCH_BROKER_URL", "")
NAP_S = 0.1
BULK = 1000


class Client(Protocol):
    """A peer's way to enqueue: `noop`, `nap`, and `note` with the time at which it was sent."""

    async def fill(self, job: str, jobs: int) -> None:
        """Enqueue many, by the fastest way that the peer documents."""

    async def send(self, job: str, *arguments: int) -> None:
        """Enqueue one."""


@dataclass(frozen=True)
class Program:
    """A peer's program."""

    client: Callable[[], AbstractAsyncContextManager[Client]]
    install: Callable[[], Awaitable[None]] | None = None
    work: Callable[..., Awaitable[None]] | None = None
    run: Callable[[Coroutine[Any, Any, None]], None] = asyncio.run


def main(program: Program) -> None:
    """Do what the command line says."""
    verb, *words = sys.argv[1:]
    match verb:
        case "install" if program.install:
            program.run(_await(program.install))
        case "worker" if program.work:
            program.run(_await(program.work, *words))
        case "fill" | "single" | "latency":
            program.run(_send(program, verb, words))
        case _:
            raise SystemExit(f"{verb}: no such verb here")


def batches(jobs: int) -> list[int]:
    """The sizes of the batches of a bulk."""
    return [min(BULK, jobs - start) for start in range(0, jobs, BULK)]


async def _await(verb: Callable[..., Awaitable[None]], *words: str) -> None:
    await verb(*words)


async def _send(program: Program, verb: str, words: list[str]) -> None:
    async with program.client() as client:
        began = time.perf_counter()
        if verb == "fill":
            await client.fill(words[0], int(words[1]))
        elif verb == "single":
            for _ in range(int(words[0])):
                await client.send("noop")
        else:
            for gap in tick.gaps(int(words[0])):
                await asyncio.sleep(gap)
                await client.send("note", time.monotonic_ns())
        print(json.dumps({"seconds": time.perf_counter() - began}))  # noqa: T201  # the program's answer
