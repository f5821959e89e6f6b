"""HTTP/1.1 whose connections end in time: uvicorn bounds none but the idle ones.

A client that sends a byte of its request's head now and then would hold its connection for ever, and so would one that
goes on with a body after the request has been refused, or never reads its answer. `gateway.http.bodies` bounds the
bodies that are read.
"""

import asyncio
import socket

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_WITHIN_S = 10.0
"""How long a connection may take for the head of a request; a proxy sends one at once."""

REST_WITHIN_S = 5.0
"""How long the rest of a refused body is thrown away before the connection is closed. Closed at once, its client might
never read why."""


TAKEN_WITHIN_S = 30.0
"""How long an answer may wait for its client to read it; the largest has a few megabytes."""


SEND_BUFFER = 128 * 1024
"""Bytes of answers that the system keeps for a client. By itself it would grow to 4 MB: a client that asks on and never
reads would be answered ten times."""


class BoundedProtocol(H11Protocol):
    """uvicorn's protocol with a bound for each part of a connection that waits for the client."""

    head_within_s = HEAD_WITHIN_S
    rest_within_s = REST_WITHIN_S
    taken_within_s = TAKEN_WITHIN_S

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own
        """Begin to wait for the first head."""
        self._too_slow: asyncio.TimerHandle | None = None
        self._not_taken: asyncio.TimerHandle | None = None
        super().connection_made(transport)
        # Writing counts as paused as long as a byte waits for the client; the system takes few of them off our hands.
        transport.set_write_buffer_limits(high=0)
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
        self._end_within(self.head_within_s)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_waiting()
        self._stop_waiting_for_reader()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Wait for the client to read; what is written still waits for it when the connection is closed."""
        super().pause_writing()
        if self._not_taken is None:
            self._not_taken = self.loop.call_later(self.taken_within_s, self._abort)

    def resume_writing(self) -> None:
        """Everything was read."""
        super().resume_writing()
        self._stop_waiting_for_reader()

    def data_received(self, data: bytes) -> None:
        """Take what came; a byte of a head does not prolong its time."""
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            self._end_within(self.head_within_s)
        elif self.conn.our_state is not h11.DONE:
            self._stop_waiting()

    def on_response_complete(self) -> None:
        """Wait for the next head, or for the rest of a body that nobody reads."""
        super().on_response_complete()
        if self.conn.their_state is h11.SEND_BODY:
            self._end_within(self.rest_within_s)

    def _end_within(self, seconds: float) -> None:
        if self._too_slow is None:
            self._too_slow = self.loop.call_later(seconds, self._end)

    def _stop_waiting(self) -> None:
        if self._too_slow is not None:
            self._too_slow.cancel()
            self._too_slow = None

    def _stop_waiting_for_reader(self) -> None:
        if self._not_taken is not None:
            self._not_taken.cancel()
            self._not_taken = None

    def _abort(self) -> None:
        self._not_taken = None
        self.logger.warning("connection closed: its answer was not read in time")
        self.transport.abort()

    def _end(self) -> None:
        self._too_slow = None
        if not self.transport.is_closing():
            self.logger.warning("connection closed: its request did not come in time")
            self.transport.close()
