"""The body of every measured job: wait at the start barrier, count one job done, record its latency.

Ours and every peer run the same code. A job is counted by appending one byte to a file: that takes about a microsecond
from processes, threads and coroutines alike, and asks no server. Only the standard library is imported here, because
every peer's environment imports this module.
"""

import asyncio
import os
import random
import time
from pathlib import Path

VARIABLE = "BENCH_RUN_FOLDER"
"""Names the run's folder. Without it jobs are counted in /dev/null and there is no start barrier."""

POLL_S = 0.002

MESSAGES, MAIL_JOBS = 4, 9
"""So many messages take so many jobs in the mail mix: each is ingested and classified, and one of them gets a draft."""

_folder = os.environ.get(VARIABLE)
_start_file = Path(_folder, "start") if _folder else None
_started = _start_file is None


def _open(name: str) -> int:
    return os.open(Path(_folder, name) if _folder else os.devnull, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)


_done, _ready, _latencies = _open("done"), _open("ready"), _open("latencies")


def count() -> None:
    """Count one job as done; the first job of each process waits at the start barrier before."""
    if not _started:
        wait_at_start_barrier()
    os.write(_done, b".")


def wait_at_start_barrier() -> None:
    """Report that this process has begun its first job, and block until the start file exists."""
    global _started  # noqa: PLW0603  # one barrier per process
    os.write(_ready, f"{os.getpid()}\n".encode())
    while _start_file is not None and not _start_file.exists():
        time.sleep(POLL_S)
    _started = True


def wait(seconds: float) -> None:
    """Block for `seconds`, as an I/O-bound job does, then count one job as done."""
    if not _started:
        wait_at_start_barrier()
    time.sleep(seconds)
    os.write(_done, b".")


async def wait_async(seconds: float) -> None:
    """The same as `wait` in a coroutine, without blocking the event loop."""
    global _started  # noqa: PLW0603  # one barrier per process
    if not _started:
        os.write(_ready, f"{os.getpid()}\n".encode())
        while _start_file is not None and not _start_file.exists():  # noqa: ASYNC110  # a file, for any process to see
            await asyncio.sleep(POLL_S)
        _started = True
    await asyncio.sleep(seconds)
    os.write(_done, b".")


def record_latency(sent_ns: int) -> None:
    """Record the nanoseconds since `sent_ns` of the machine's monotonic clock, which all its processes share."""
    os.write(_latencies, f"{time.monotonic_ns() - sent_ns}\n".encode())


def gaps(samples: int) -> list[float]:
    """Seconds to wait between two enqueues: random, 20 ms on average, and the same list for every contender."""
    random_gaps = random.Random(samples)  # noqa: S311  # a benchmark, not a secret
    return [random_gaps.expovariate(50.0) for _ in range(samples)]


def needs_draft(message: int) -> bool:
    """Whether the message of this number gets a draft in the mail mix."""
    return message % MESSAGES == 0


def account_of(message: int) -> str:
    """The mailbox that the message of this number is in, a UUID: there are a hundred."""
    return f"00000000-0000-4000-8000-{message % 100:012d}"
