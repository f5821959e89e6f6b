"""HTTP/1.1 whose connections are bounded in work, time and number: uvicorn bounds none but the idle ones.

A client can make a server work by the form of what it sends, or hold a connection by what it does not send, or does not
read. Neither needs a key. `gateway.http.bodies` bounds the bodies that are read.
"""

import asyncio
import socket
from weakref import WeakKeyDictionary

from uvicorn.protocols.http.flow_control import service_unavailable
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

READ_AT_ONCE = 4096
"""Bytes of a connection that are parsed in a turn of the event loop. Of chunks of one byte each, they take less than a
millisecond."""

LONGEST_FRAMING = 64 * 1024
"""Bytes of a request that are none of its body: its head, and the sizes, extensions and trailers of its chunks. Chunks
of a byte have five of them; the 16 MB of the longest body, in chunks of 16 KB, have 7 KB."""

MOST_FIELDS = 200
"""Fields of a head. Each look for one of them passes all, a dozen times for a request; clients send some twenty."""

MOST_PIPELINED = 16
"""Requests that come before the one in front of them is answered. Each is kept; known clients wait for the answer."""

CLIENT_WITHIN_S = 30.0
"""How long a connection may wait for its client: for a head, for the rest of a body, for the reading of an answer, of
which the largest has a few megabytes. The time of a body that is read ends before, so that it is answered."""

MOST_CONNECTIONS = 800
"""A process answers a few hundred requests a second; a connection behind so many others would be answered too late."""

SEND_BUFFER = 128 * 1024
"""Bytes of answers that the system keeps for a client. By itself it would grow to 4 MB: a client that asks on and never
reads would be answered ten times."""

END_STREAM = "postroom.end_stream"
"""In a request's scope: what ends an answer that has no end of its own. A gateway that stops would wait for it."""

PROBES = frozenset({b"/healthz", b"/readyz"})
"""Answered when everything else is refused: who probes would restart a process that is merely busy."""


class BoundedProtocol(asyncio.BufferedProtocol, HttpToolsProtocol):  # type: ignore[misc]  # they differ in what they ignore
    """uvicorn's protocol, in which what waits for a client ends in time, or sooner when others need its place.

    A connection waits for its client unless a whole request is being answered. Bytes that come do not prolong the time;
    a whole head does, once. When there are too many connections, the one that has waited longest makes place.
    """

    client_within_s = CLIENT_WITHIN_S
    most_connections = MOST_CONNECTIONS

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own
        """Begin to wait for the first head; too many connections lose the oldest that waits."""
        self._waiting = WAITING.setdefault(self.server_state, {})
        self._framing = 0
        self._read = bytearray(READ_AT_ONCE)
        super().connection_made(transport)
        # Writing counts as paused as long as a byte waits for the client; the system takes few of them off our hands.
        transport.set_write_buffer_limits(high=0)
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
        if len(self.connections) > self.most_connections and self._waiting:
            next(iter(self._waiting)).end("others need its place")
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_waiting()
        super().connection_lost(exc)

    def get_buffer(self, _sizehint: int) -> bytearray:
        """Where the loop puts what came."""
        return self._read

    def buffer_updated(self, nbytes: int) -> None:
        """Parse what came."""
        before = self.cycle
        self._framing += nbytes
        self.data_received(bytes(self._read[:nbytes]))
        if self._framing > LONGEST_FRAMING and not self.transport.is_closing():
            self.send_400_response("Too much beside the body.")
        if self.cycle is not before:
            self._stop_waiting()
        self._watch()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a field of a head, or of a trailer."""
        if len(self.headers) >= MOST_FIELDS:
            raise ValueError("too many fields")
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Begin a request; 503 when all that the process may take are being answered."""
        if len(self.pipeline) >= MOST_PIPELINED:
            raise ValueError("too many requests at once")
        is_full = len(self.tasks) >= self.most_connections and self.url not in PROBES
        self.app = service_unavailable if is_full else self.config.loaded_app
        super().on_headers_complete()
        self.headers = []  # what comes now is a trailer, and no field of the head

    def on_body(self, body: bytes) -> None:
        """Take a part of a body."""
        self._framing -= len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Count anew for the next request."""
        self._framing = 0
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP, or close where an answer has begun: a second would be read as a part of the first."""
        began = self.cycle is not None and self.cycle.response_started
        if self.pipeline or (began and (self.cycle.more_body or not self.cycle.response_complete)):
            self.transport.close()
        else:
            super().send_400_response(msg)

    def on_response_complete(self) -> None:
        """Wait for the next head, or for the rest of a body that nobody reads."""
        super().on_response_complete()
        self._watch()

    def pause_writing(self) -> None:
        """Wait for the client to read; what is written still waits for it when the connection is closed."""
        super().pause_writing()
        self._watch()

    def resume_writing(self) -> None:
        """Everything was read."""
        super().resume_writing()
        self._watch()

    def shutdown(self) -> None:
        """Begin to stop: what is being answered is answered, and streams end."""
        super().shutdown()
        end_stream = None if self.cycle is None else self.cycle.scope.get(END_STREAM)
        if callable(end_stream):
            end_stream()

    def end(self, reason: str) -> None:
        """Close the connection, whatever it still holds for its client."""
        self._stop_waiting()
        self.logger.info("connection closed: %s", reason)
        self.transport.abort()

    def _watch(self) -> None:
        is_answering = self.cycle is not None and not self.cycle.more_body and not self.cycle.response_complete
        if is_answering and not self.flow.write_paused:
            self._stop_waiting()
        elif self not in self._waiting and self in self.connections:
            self._waiting[self] = self.loop.call_later(self.client_within_s, self.end, "its client took too long")

    def _stop_waiting(self) -> None:
        timer = self._waiting.pop(self, None)
        if timer is not None:
            timer.cancel()


WAITING: WeakKeyDictionary[ServerState, dict[BoundedProtocol, asyncio.TimerHandle]] = WeakKeyDictionary()
"""The connections of a server that wait for their clients, the one that has waited longest first."""
