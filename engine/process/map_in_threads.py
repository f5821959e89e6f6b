"""The same work over many parts in a few threads, so that the database is not idle while one of them waits."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Lock
from typing import TypeVar

Part = TypeVar("Part")
Result = TypeVar("Result")


def map_in_threads(work: Callable[[Part], Result], parts: Sequence[Part], threads: int) -> list[Result]:
    """The result of each part, in their order; they begin in that order, at most so many at a time.

    The first failure is raised when what is under way has ended, and nothing more begins after it.
    """
    if threads == 1 or len(parts) <= 1:
        return [work(part) for part in parts]
    waiting, lock, failed = iter(enumerate(parts)), Lock(), Event()
    results: dict[int, Result] = {}

    def work_on() -> None:
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

    with ThreadPoolExecutor(threads, "map") as pool:
        for ending in [pool.submit(work_on) for _ in range(threads)]:
            ending.result()
    return [results[place] for place in range(len(parts))]
