"""What a measured job does: wait for the starting gun, be counted, note how late it began; the same for ours and peers.

A tick is one byte appended to a file: it takes a microsecond, of processes, threads and coroutines alike, and asks no
server. The standard library only, for every peer's environment imports this.
"""

import asyncio
import os
import random
import time
from pathlib import Path

VARIABLE = "BENCH_COURSE"
"""Names the folder of a run; without it a job ticks into nothing, and no gun is awaited."""

_course = os.environ.get(VARIABLE)
_gun = Path(_course, "gun") if _course else None
_fired = _gun is None
LOOK_S = 0.002


def _open(name: str) -> int:
    return os.open(Path(_course, name) if _course else os.devnull, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)


_ticks, _ready, _arrivals = _open("ticks"), _open("ready"), _open("arrivals")


def tick() -> None:
    """Be counted, and before the first time in this process wait for the gun."""
    if not _fired:
        await_gun()
    os.write(_ticks, b".")


def await_gun() -> None:
    """Tell that this process has begun its first job, and wait until all have: a start-up must not be measured."""
    global _fired  # noqa: PLW0603  # one gun per process
    os.write(_ready, f"{os.getpid()}\n".encode())
    while _gun is not None and not _gun.exists():
        time.sleep(LOOK_S)
    _fired = True


def nap(seconds: float) -> None:
    """Be a job that waits for the network."""
    if not _fired:
        await_gun()
    time.sleep(seconds)
    os.write(_ticks, b".")


async def nap_lightly(seconds: float) -> None:
    """The same in a coroutine, so that no other is held up."""
    global _fired  # noqa: PLW0603  # one gun per process
    if not _fired:
        os.write(_ready, f"{os.getpid()}\n".encode())
        while _gun is not None and not _gun.exists():  # noqa: ASYNC110  # the gun is a file, so that any process sees it
            await asyncio.sleep(LOOK_S)
        _fired = True
    await asyncio.sleep(seconds)
    os.write(_ticks, b".")


def arrive(sent_ns: int) -> None:
    """Note the nanoseconds since `sent_ns` of the machine's monotonic clock, which all its processes share."""
    os.write(_arrivals, f"{time.monotonic_ns() - sent_ns}\n".encode())


def gaps(samples: int) -> list[float]:
    """Seconds to wait between two sendings: random, 20 ms on average, and the same for everybody."""
    dice = random.Random(samples)  # noqa: S311  # a benchmark, not a secret
    return [dice.expovariate(50.0) for _ in range(samples)]
