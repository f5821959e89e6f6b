"""The pulse: one look a second for all viewers of a process, and none while nobody looks.

A stream sends the numbers of the head when they change, and says when the thing that its page is about has changed: the
page is then asked for anew. What the database does for it does not depend on how many look.
"""

import asyncio
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from typing import NamedTuple
from uuid import UUID

import structlog
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from domain.jobs.failures import Failure
from gateway.console.reading import ConsoleReads, until_gone
from gateway.console.rendering import HEADERS, NOT_KEPT, rendered
from gateway.http.bounded_protocol import END_STREAM
from gateway.http.fairness import SharedPlaces
from storage import watching
from storage.approvals import attention
from storage.approvals.attention import Attention
from storage.orgs.access import operators
from storage.postgres.execution import DatabaseError
from storage.watching import RowVersion

log = structlog.get_logger(__name__)

BEAT_S = 1.0
COMMENT_EVERY_S = 15.0
"""Proxies close a connection on which nothing comes."""
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


class Seen(NamedTuple):
    """What a beat has found."""

    head: str | None
    """The numbers of the fleet as HTML; None where nobody may see them."""
    sessions: frozenset[UUID]
    """Those that are good."""
    versions: Mapping[UUID, RowVersion]


@dataclass(eq=False, slots=True)
class Viewer:
    """A stream: what it has yet to send, the newest of a topic in the place of an older one."""

    session_id: UUID
    org_ids: frozenset[UUID] | None = None
    """The orgs of their scope; None for all."""
    watched: UUID | None = None
    """The thing that the page is about."""
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    waiting: dict[str, str] = field(default_factory=dict)
    is_over: bool = False
    """Whether the session is."""
    is_cut: bool = False
    """Whether the pulse has ended: the browser comes again, and begins another."""
    _shown: dict[str, str] = field(default_factory=dict)

    def learn(self, seen: Seen) -> None:
        """Send next what is new, of what they may see."""
        if self.session_id not in seen.sessions:
            self.is_over = True
            self.changed.set()
        if self.org_ids is None and seen.head is not None:
            self._show("attention", seen.head)
        row = seen.versions.get(self.watched) if self.watched else None
        if row is not None and (self.org_ids is None or row.org_id in self.org_ids):
            self._show("changed", row.version)

    def _show(self, topic: str, text: str) -> None:
        if self._shown.get(topic) != text:
            self._shown[topic] = self.waiting[topic] = text
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
                with self._reads.database.ledger() as tx:
                    self._keep(attention.count(tx, most=MOST_COUNTED + 1))
            return self._last[1] if self._last else Attention(0, 0, 0, 0)

    @contextmanager
    def watch(self, viewer: Viewer) -> Iterator[None]:
        """Show a viewer what changes; the last one to leave lets the pulse sleep."""
        self._viewers.add(viewer)
        if self._beating is None:
            self._beating = asyncio.create_task(self._beat())
            self._beating.add_done_callback(self._broken)
        try:
            yield
        finally:
            self._viewers.discard(viewer)
            if not self._viewers:
                self.stop()

    def stop(self) -> None:
        """End the beat."""
        if self._beating is not None:
            self._beating.cancel()
            self._beating = None

    def _broken(self, beat: "asyncio.Task[None]") -> None:
        """Cut the streams of a beat that has ended by itself, which is a fault: nobody listens to what is silent."""
        if beat is not self._beating or beat.cancelled():
            return
        self._beating = None
        log.error("pulse_broken", exc_info=beat.exception())
        for viewer in self._viewers:
            viewer.is_cut = True
            viewer.changed.set()

    async def _beat(self) -> None:
        while True:
            viewers = tuple(self._viewers)
            try:
                seen = await self._reads.look_up(partial(self._look, viewers))
            except (Failure, DatabaseError) as error:
                log.warning("pulse_missed", code=type(error).__name__)
            else:
                for viewer in viewers:
                    viewer.learn(seen)
            await asyncio.sleep(self._beat_s)

    def _look(self, viewers: Collection[Viewer]) -> Seen:
        with self._reads.database.ledger() as tx:
            head = None
            if any(one.org_ids is None for one in viewers):
                head = fragment_of(counters_of(self._keep(attention.count(tx, most=MOST_COUNTED + 1))))
            sessions = operators.good_sessions(tx, {one.session_id for one in viewers})
            return Seen(head, sessions, watching.versions(tx, {one.watched for one in viewers if one.watched}))

    def _keep(self, counted: Attention) -> Attention:
        self._last = (time.monotonic(), counted)
        return counted


def fragment_of(counters: Sequence[Counter]) -> str:
    """The counters of the head as HTML."""
    return rendered("counters.html", counters=counters)


class PulseStream(Response):
    """The stream of one viewer."""

    media_type = "text/event-stream"

    def __init__(self, pulse: Pulse, operator_id: UUID, viewer: Viewer) -> None:
        """Keep whose it is."""
        super().__init__()
        self._pulse, self._operator_id, self._viewer = pulse, operator_id, viewer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send what changes until the browser is gone, the session is over or the gateway stops.

        Raises `Throttled` before it begins.
        """
        with self._pulse.streams.hold(self._operator_id), self._pulse.watch(self._viewer):
            headers = {
                **HEADERS,
                **NOT_KEPT,
                "Content-Type": "text/event-stream; charset=utf-8",
                "X-Accel-Buffering": "no",
            }
            raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
            await send({"type": "http.response.start", "status": 200, "headers": raw})
            gone = asyncio.create_task(until_gone(receive))
            scope[END_STREAM] = gone.cancel
            with suppress(TimeoutError):
                try:
                    await self._tell(send, gone)
                    await _send(send, "", more=False)
                finally:
                    gone.cancel()

    async def _tell(self, send: Send, gone: "asyncio.Task[None]") -> None:
        viewer = self._viewer
        await _send(send, "retry: 3000\n\n")
        while not gone.done():
            if not await _changed(viewer, gone):
                await _send(send, ": still here\n\n")
            while viewer.waiting:
                topic, text = viewer.waiting.popitem()
                data = "\n".join(f"data: {line}" for line in text.splitlines())
                await _send(send, f"event: {topic}\n{data}\n\n")
            if viewer.is_over:
                await _send(send, "event: over\ndata: the session is over\n\n")
            if viewer.is_over or viewer.is_cut:
                return


async def _send(send: Send, text: str, *, more: bool = True) -> None:
    message: Message = {"type": "http.response.body", "body": text.encode(errors="replace"), "more_body": more}
    async with asyncio.timeout(SEND_WITHIN_S):
        await send(message)


async def _changed(viewer: Viewer, gone: "asyncio.Task[None]") -> bool:
    """Wait until there is something to send, or the browser is gone; false when a comment is due."""
    changing = asyncio.create_task(viewer.changed.wait())
    done, _ = await asyncio.wait({changing, gone}, timeout=COMMENT_EVERY_S, return_when=asyncio.FIRST_COMPLETED)
    changing.cancel()
    viewer.changed.clear()
    return bool(done)
