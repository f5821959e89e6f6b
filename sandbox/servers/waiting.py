"""Wait for another process by polling until a deadline."""

import threading
import time
from collections.abc import Callable
from typing import TypeVar

Answer = TypeVar("Answer")

POLL_S = 0.02
"""Seconds between two polls: short against a process's start, long against the cost of one poll."""


def wait_until(ask: Callable[[], Answer], *, within: float, describe: str) -> Answer:
    """Return the first truthy answer; after `within` seconds raise `TimeoutError` that says what was awaited.

    `describe` completes the sentence "waited 10 s for …".
    """
    never = threading.Event()
    deadline = time.monotonic() + within
    while not (answer := ask()):
        if time.monotonic() >= deadline:
            raise TimeoutError(f"waited {within:g} s for {describe}; the last answer was {answer!r}")
        never.wait(POLL_S)
    return answer
