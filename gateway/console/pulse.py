"""The pulse: one statement a second for all viewers of a process, and none while nobody looks.

A stream sends the fragment of a topic when it has changed. Its cost for the database does not depend on who looks.
"""

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Lock
from uuid import UUID

import structlog
from fastapi import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from domain.jobs.failures import Failure
from gateway.console.reading import ConsoleReads, until_gone
from gateway.console.rendering import HEADERS, NOT_KEPT, rendered
from gateway.http.fairness import SharedPlaces
from storage.approvals import attention
from storage.approvals.attention import Attention
from storage.postgres.execution import DatabaseError

log = structlog.get_logger(__name__)

BEAT_S = 1.0
COMMENT_EVERY_S = 15.0
"""Proxies close a connection on which nothing comes; and the session is looked at again."""
SEND_WITHIN_S = 10.0
"""Who has not read for so long is dropped; the browser comes again by itself."""
STREAMS_AT_ONCE, STREAMS_OF_OPERATOR = 100, 4
MOST_COUNTED = 999
"""Things of a kind that are counted; above that a page says that there are more."""


@dataclass(frozen=True, slots=True)
class Counter:
    """A number, and the area in which the things are."""

    area: str
    words: str
    number: int

    @property
    def text(self) -> str:
        """The number as a page says it; above the bound nobody has counted."""
        return str(self.number) if self.number <= MOST_COUNTED else f"{MOST_COUNTED}+"


def counters_of(found: Attention) -> Sequence[Counter]:
    """The numbers, in the order in which they are shown."""
    return (
        Counter("deadletters", "dead letters", found.letters),
        Counter("effects", "in doubt", found.doubts),
        Counter("approvals", "approvals", found.approvals),
        Counter("gates", "closed gates", found.gates),
    )


@dataclass(eq=False, slots=True)
class Viewer:
    """A stream: what it has yet to send, the newest of a topic in the place of an older one."""

    changed: asyncio.Event = field(default_factory=asyncio.Event)
    waiting: dict[str, str] = field(default_factory=dict)

    def show(self, topic: str, fragment: str) -> None:
        """Send this next."""
        self.waiting[topic] = fragment
        self.changed.set()


class Pulse:
    """The beat of a process: for one event loop."""

    def __init__(self, reads: ConsoleReads, beat_s: float = BEAT_S) -> None:
        """Nothing beats before somebody looks."""
        self.streams = SharedPlaces(STREAMS_AT_ONCE, STREAMS_OF_OPERATOR, "other live pages are open")
        self._reads, self._beat_s = reads, beat_s
        self._viewers: set[Viewer] = set()
        self._beating: asyncio.Task[None] | None = None
        self._last: tuple[float, Attention] | None = None
        self._lock = Lock()

    @property
    def is_awake(self) -> bool:
        """Whether somebody looks."""
        return self._beating is not None

    def attention(self) -> Attention:
        """What waits for a person, at most a beat old; in a thread, for it may be read."""
        with self._lock:
            if self._last is None or time.monotonic() - self._last[0] > self._beat_s:
                self._last = (time.monotonic(), self._count())
            return self._last[1]

    @contextmanager
    def watch(self) -> Iterator[Viewer]:
        """A viewer, who is shown the newest at once; the last one to leave lets the pulse sleep."""
        viewer = Viewer()
        self._viewers.add(viewer)
        if self._beating is None:
            self._beating = asyncio.create_task(self._beat())
        elif self._last is not None:
            viewer.show("attention", fragment_of(counters_of(self._last[1])))
        try:
            yield viewer
        finally:
            self._viewers.discard(viewer)
            if not self._viewers and self._beating is not None:
                self._beating.cancel()
                self._beating = None

    def stop(self) -> None:
        """End the beat, and let every stream end."""
        if self._beating is not None:
            self._beating.cancel()
            self._beating = None

    async def _beat(self) -> None:
        shown: Attention | None = None
        while True:
            try:
                found = await asyncio.to_thread(self._count)
            except (Failure, DatabaseError) as error:
                log.warning("pulse_missed", code=type(error).__name__)
            else:
                self._last = (time.monotonic(), found)
                if found != shown:
                    shown, text = found, fragment_of(counters_of(found))
                    for viewer in self._viewers:
                        viewer.show("attention", text)
            await asyncio.sleep(self._beat_s)

    def _count(self) -> Attention:
        with self._reads.database.ledger() as tx:
            return attention.count(tx, most=MOST_COUNTED + 1)


def fragment_of(counters: Sequence[Counter]) -> str:
    """The counters of the head as HTML."""
    return rendered("counters.html", counters=counters)


class PulseStream(Response):
    """The stream of one viewer; `is_signed` says whether the session is still good."""

    media_type = "text/event-stream"

    def __init__(self, request: Request, pulse: Pulse, operator_id: UUID, is_signed: Callable[[], bool]) -> None:
        """Keep whose it is."""
        super().__init__()
        self._request, self._pulse, self._operator_id, self._is_signed = request, pulse, operator_id, is_signed

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        """Send what changes until the browser is gone or the session is over; raises `Throttled` before it begins."""
        with self._pulse.streams.hold(self._operator_id), self._pulse.watch() as viewer:
            headers = {
                **HEADERS,
                **NOT_KEPT,
                "Content-Type": "text/event-stream; charset=utf-8",
                "X-Accel-Buffering": "no",
            }
            raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
            await send({"type": "http.response.start", "status": 200, "headers": raw})
            gone = asyncio.create_task(until_gone(receive))
            with suppress(TimeoutError):
                try:
                    await self._tell(send, viewer, gone)
                    await _send(send, "", more=False)
                finally:
                    gone.cancel()

    async def _tell(self, send: Send, viewer: Viewer, gone: "asyncio.Task[None]") -> None:
        await _send(send, "retry: 3000\n\n")
        looked_at = asyncio.get_running_loop().time()
        while not gone.done():
            await _changed(viewer, gone)
            if asyncio.get_running_loop().time() - looked_at >= COMMENT_EVERY_S:
                looked_at = asyncio.get_running_loop().time()
                if not await asyncio.to_thread(self._is_signed):
                    await _send(send, "event: over\ndata: the session is over\n\n")
                    return
                await _send(send, ": still here\n\n")
            while viewer.waiting:
                topic, fragment = viewer.waiting.popitem()
                data = "\n".join(f"data: {line}" for line in fragment.splitlines())
                await _send(send, f"event: {topic}\n{data}\n\n")


async def _send(send: Send, text: str, *, more: bool = True) -> None:
    message: Message = {"type": "http.response.body", "body": text.encode(errors="replace"), "more_body": more}
    async with asyncio.timeout(SEND_WITHIN_S):
        await send(message)


async def _changed(viewer: Viewer, gone: "asyncio.Task[None]") -> None:
    """Wait until there is something to send, the browser is gone, or a comment is due."""
    changing = asyncio.create_task(viewer.changed.wait())
    await asyncio.wait({changing, gone}, timeout=COMMENT_EVERY_S, return_when=asyncio.FIRST_COMPLETED)
    changing.cancel()
    viewer.changed.clear()
