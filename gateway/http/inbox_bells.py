"""Rings for streams of inboxes: one connection of the process listens for new items, whoever reads."""

import asyncio
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

import structlog

from storage.notifications import inbox
from storage.postgres.database import Database
from storage.postgres.execution import DatabaseError, DatabaseUnavailable

log = structlog.get_logger(__name__)

LISTEN_FOR_S = 1.0
LISTEN_AGAIN_AFTER_S = 1.0


class InboxBells:
    """Rings for the streams of a person when their inbox has a new item; for one event loop."""

    def __init__(self, database: Database) -> None:
        """Nothing listens before somebody watches."""
        self._database = database
        self._bells: defaultdict[UUID, set[asyncio.Event]] = defaultdict(set)
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    @contextmanager
    def watch(self, user_id: UUID) -> Iterator[asyncio.Event]:
        """An event that is set when something may be new; in the event loop's thread."""
        if self._thread is None:
            loop = asyncio.get_running_loop()
            self._thread = threading.Thread(target=self._listen, args=(loop,), name="inbox bells", daemon=True)
            self._thread.start()
        bell = asyncio.Event()
        self._bells[user_id].add(bell)
        try:
            yield bell
        finally:
            self._bells[user_id].discard(bell)
            if not self._bells[user_id]:
                del self._bells[user_id]

    def stop(self) -> None:
        """End the listening thread and wait for it; it looks each second."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join(2 * LISTEN_FOR_S)

    def _listen(self, loop: asyncio.AbstractEventLoop) -> None:
        while not self._stopped.is_set():
            try:
                with self._database.session() as session:
                    inbox.listen(session)
                    while not self._stopped.is_set():
                        heard = inbox.heard(session, LISTEN_FOR_S)
                        if heard:
                            loop.call_soon_threadsafe(self._ring, heard)
            except (DatabaseUnavailable, DatabaseError) as error:
                log.warning("inbox_bells_lost", code=type(error).__name__)
                self._stopped.wait(LISTEN_AGAIN_AFTER_S)
            except RuntimeError:
                return  # the loop is closed: the process ends

    def _ring(self, heard: frozenset[UUID]) -> None:
        for user_id in heard & self._bells.keys():
            for bell in self._bells[user_id]:
                bell.set()
