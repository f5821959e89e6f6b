"""What the console reads by: connections and threads of its own, so that no viewer takes those of the API."""

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar
from uuid import UUID

from fastapi import Request
from starlette.types import Receive

from gateway.http.fairness import RequestPlaces
from settings import Settings
from storage.postgres.database import Reader, ReadingDatabase

READS_AT_ONCE = 4
"""Pages that are made at a time in a process: each has a thread, and a connection while it reads."""
READS_OF_OPERATOR = 2
"""Of these for one operator, who may have fifty tabs open."""
READ_WITHIN_S = 2.0
"""A statement of a page. One that takes longer is answered with advice, and not waited for."""

T = TypeVar("T")


class ConsoleReads:
    """Threads and connections of a process's console."""

    def __init__(self, settings: Settings) -> None:
        """Nothing connects yet."""
        self.database = ReadingDatabase(settings, connections=READS_AT_ONCE, most_s=READ_WITHIN_S)
        self._slots = RequestPlaces(READS_OF_OPERATOR, READ_WITHIN_S)
        self._threads = ThreadPoolExecutor(READS_AT_ONCE, thread_name_prefix="console")

    async def do(self, request: Request, operator_id: UUID, work: Callable[[], T]) -> T:
        """What `work` returns, made in one of the console's threads.

        A browser that gives the request up ends the statement that runs. Raises `Busy` where the operator's other
        requests hold the slots.
        """
        async with self._slots.hold(operator_id):
            reader = Reader()
            gone = asyncio.create_task(until_gone(request.receive))
            doing = asyncio.get_running_loop().run_in_executor(
                self._threads, contextvars.copy_context().run, self._read, reader, work
            )
            try:
                waiting: set[asyncio.Future[Any]] = {doing, gone}
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                if not doing.done():
                    await asyncio.to_thread(reader.give_up)
                return await doing
            finally:
                gone.cancel()

    def stop(self) -> None:
        """End the threads, and close the connections."""
        self._threads.shutdown(wait=True, cancel_futures=True)
        self.database.dispose()

    def _read(self, reader: Reader, work: Callable[[], T]) -> T:
        with self.database.read_by(reader):
            return work()


async def until_gone(receive: Receive) -> None:
    """Wait until the browser has left."""
    while (await receive())["type"] != "http.disconnect":
        pass
