"""Work in lanes: the same over many parts, a few at a time, so that the database is not idle while one waits."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Lock
from typing import TypeVar

Part = TypeVar("Part")
Result = TypeVar("Result")


def in_lanes(work: Callable[[Part], Result], parts: Sequence[Part], lanes: int) -> list[Result]:
    """The result of each part, in their order; they begin in that order, at most so many at a time.

    The first failure is raised when what is under way has ended, and nothing more begins after it.
    """
    if lanes == 1 or len(parts) <= 1:
        return [work(part) for part in parts]
    waiting, lock, failed = iter(enumerate(parts)), Lock(), Event()
    results: dict[int, Result] = {}

    def lane() -> None:
        while not failed.is_set():
            with lock:
                following = next(waiting, None)
            if following is None:
                return
            place, part = following
            try:
                results[place] = work(part)
            finally:
                if place not in results:
                    failed.set()

    with ThreadPoolExecutor(lanes, "lane") as pool:
        for ending in [pool.submit(lane) for _ in range(lanes)]:
            ending.result()
    return [results[place] for place in range(len(parts))]
