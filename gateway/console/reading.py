"""What the console reads by: connections and threads of its own, so that no viewer takes those of the API."""

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar
from uuid import UUID

import structlog
from fastapi import Request
from starlette.types import Receive

from gateway.http.fairness import RequestPlaces
from settings import Settings
from storage.postgres.database import Reader, ReadingDatabase

READS_AT_ONCE = 4
"""Connections of a process's console: one for each of its threads."""
PAGES_AT_ONCE = READS_AT_ONCE - 1
"""Pages that are made, and deeds that are done, at a time. The thread that is left looks sessions up, and beats the
pulse: neither waits for a page."""
READS_OF_OPERATOR = 2
"""Of the pages for one operator, who may have fifty tabs open."""
READ_WITHIN_S = 2.0
"""A statement of a page, and the wait for a thread. What takes longer is answered with advice, and not waited for."""
EVERYBODY = UUID(int=0)
"""Whose slots are, which all operators share."""

log = structlog.get_logger(__name__)
T = TypeVar("T")


class ConsoleReads:
    """Threads and connections of a process's console."""

    def __init__(self, settings: Settings) -> None:
        """Nothing connects yet."""
        self.database = ReadingDatabase(settings, connections=READS_AT_ONCE, most_s=READ_WITHIN_S)
        self._of_each = RequestPlaces(READS_OF_OPERATOR, READ_WITHIN_S)
        self._of_all = RequestPlaces(PAGES_AT_ONCE, READ_WITHIN_S)
        self._threads = ThreadPoolExecutor(PAGES_AT_ONCE, thread_name_prefix="console")
        self._look_ups = RequestPlaces(1, READ_WITHIN_S)
        self._looking_up = ThreadPoolExecutor(1, thread_name_prefix="console look-up")
        self._noting = ThreadPoolExecutor(1, thread_name_prefix="console note")
        self._noted: set[UUID] = set()

    async def do(self, request: Request, operator_id: UUID, work: Callable[[], T]) -> T:
        """What `work` returns, made in one of the console's threads.

        A browser that gives the request up ends the statement that runs. Raises `Busy` where the operator's other
        requests, or everybody's, hold the slots.
        """
        async with self._of_each.hold(operator_id), self._of_all.hold(EVERYBODY):
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

    async def look_up(self, work: Callable[[], T]) -> T:
        """What `work` returns, which asks for a few keys; it waits for no page. Raises `Busy` where too many wait."""
        async with self._look_ups.hold(EVERYBODY):
            return await asyncio.get_running_loop().run_in_executor(self._looking_up, work)

    def note(self, session_id: UUID, write: Callable[[], None]) -> None:
        """Write that a session was used, in a thread beside: nobody waits for it, and what is not written is due again.

        One note of a session waits at most.
        """
        if session_id in self._noted:
            return
        self._noted.add(session_id)

        def end(noting: "Future[None]") -> None:
            self._noted.discard(session_id)
            if not noting.cancelled() and (error := noting.exception()) is not None:
                log.warning("use_not_noted", code=type(error).__name__)

        self._noting.submit(write).add_done_callback(end)

    def stop(self) -> None:
        """End the threads, and close the connections."""
        for threads in (self._threads, self._looking_up, self._noting):
            threads.shutdown(wait=True, cancel_futures=True)
        self.database.dispose()

    def _read(self, reader: Reader, work: Callable[[], T]) -> T:
        with self.database.read_by(reader):
            return work()


def reads_of(request: Request) -> ConsoleReads:
    """What the console of this application reads by."""
    reads: ConsoleReads = request.app.state.console
    return reads


async def until_gone(receive: Receive) -> None:
    """Wait until the browser has left."""
    while (await receive())["type"] != "http.disconnect":
        pass
