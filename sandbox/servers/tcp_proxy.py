"""A TCP proxy on the loopback that cuts, stalls, silences and slows connections: a network that can be made to fail."""

import asyncio
import contextlib
import socket
import struct
import threading
from collections.abc import Callable
from typing import TypeVar, cast

from sandbox.servers.free_port import LOOPBACK, find_free_port
from sandbox.servers.startable import Startable

Answer = TypeVar("Answer")

AT_ONCE = struct.pack("ii", 1, 0)
"""SO_LINGER of zero seconds: closing sends RST instead of FIN, as a firewall that forgot the connection does."""

CALL_WITHIN_S = 10.0
"""How long a call into the proxy's event loop may take; nothing in that loop blocks."""


class TcpProxy(Startable):
    """Forwards a port of the loopback to another, byte for byte.

    It runs in a thread of its own; its methods may be called from any other. When the upstream refuses a connection,
    the client's is reset. When the upstream closes one, the client's is closed after all bytes were sent.
    """

    def __init__(self, upstream: int, *, port: int | None = None) -> None:
        """Forward to the port `upstream`; listen on a free port unless one is given."""
        self.upstream = upstream
        self.port = find_free_port() if port is None else port
        self.stalled = False
        self._trickle_s: float | None = None
        self._ends: set[_End] = set()
        self._connecting: set[asyncio.Task[None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._listening: asyncio.Server | None = None

    @property
    def connections(self) -> int:
        """How many clients are connected."""
        return self._in_loop(lambda: sum(end.is_client for end in self._ends))

    def cut(self) -> int:
        """Reset every connection, on both sides; returns how many there were. New connections are accepted."""
        return self._in_loop(self._reset_all)

    def stall(self) -> None:
        """Forward nothing on any connection; new connections are accepted and stall too."""
        self._in_loop(lambda: self._hold(stalled=True))

    def silence(self) -> int:
        """Forward nothing more on the connections of now, for ever; returns how many clients had one.

        All stay open and take what is sent, as behind a gateway that forgot them. New connections work.
        """
        return self._in_loop(self._silence_all)

    def trickle(self, *, every_s: float | None) -> None:
        """Let answers through one byte at a time, one in so many seconds; None forwards what has waited, and all more.

        What clients send is forwarded at once.
        """
        self._in_loop(lambda: self._slow_down(every_s))

    def resume(self) -> None:
        """Forward again, beginning with the bytes that have waited."""
        self._in_loop(lambda: self._hold(stalled=False))

    def start(self) -> None:
        """Listen; returns when connections are taken."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=f"proxy-{self.port}", daemon=True)
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(CALL_WITHIN_S)

    def stop(self) -> None:
        """Reset everything and listen no more."""
        if self._loop is None or self._thread is None:
            return
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(CALL_WITHIN_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._loop = self._thread = None

    def _in_loop(self, change: Callable[[], Answer]) -> Answer:
        if self._loop is None:
            raise RuntimeError("the proxy does not run")

        async def run() -> Answer:
            return change()

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result(CALL_WITHIN_S)

    async def _listen(self) -> None:
        loop = asyncio.get_running_loop()
        self._listening = await loop.create_server(lambda: _End(self._ends, self._join), LOOPBACK, self.port)

    async def _end(self) -> None:
        if self._listening is not None:
            self._listening.close()
        for task in self._connecting:
            task.cancel()
        await asyncio.gather(*self._connecting, return_exceptions=True)
        self._reset_all()
        # Each transport needs a turn of the loop to close itself.
        await asyncio.gather(*(end.closed.wait() for end in list(self._ends)))

    def _join(self, client: "_End") -> None:
        task = asyncio.get_running_loop().create_task(self._connect(client))
        self._connecting.add(task)
        task.add_done_callback(self._connecting.discard)

    async def _connect(self, client: "_End") -> None:
        loop = asyncio.get_running_loop()
        try:
            _, server = await loop.create_connection(lambda: _End(self._ends), LOOPBACK, self.upstream)
        except OSError:
            client.reset()
            return
        client.peer, server.peer = server, client
        if client not in self._ends:
            server.reset()
        server.slow_down(self._trickle_s)
        for end in (client, server):
            end.hold(stalled=self.stalled)

    def _reset_all(self) -> int:
        cut = sum(end.is_client for end in self._ends)
        for end in list(self._ends):
            end.reset()
        return cut

    def _silence_all(self) -> int:
        silenced = 0
        for end in self._ends:
            end.silenced = True
            silenced += end.is_client
        return silenced

    def _slow_down(self, every_s: float | None) -> None:
        self._trickle_s = every_s
        for end in self._ends:
            if not end.is_client:
                end.slow_down(every_s)

    def _hold(self, *, stalled: bool) -> None:
        self.stalled = stalled
        for end in self._ends:
            end.hold(stalled=stalled)


class _End(asyncio.Protocol):
    """One end of a connection; what it receives is written to its peer, the other end."""

    def __init__(self, ends: "set[_End]", on_client: "Callable[[_End], None] | None" = None) -> None:
        self.peer: _End | None = None
        self.is_client = on_client is not None
        self.closed = asyncio.Event()
        self.silenced = False
        self._trickle_s: float | None = None
        self._waiting = bytearray()
        self._ends = ends
        self._on_client = on_client
        self._stalled = True  # until both ends are connected
        self._full = False  # whether the peer's write buffer is full
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.pause_reading()
        self._ends.add(self)
        if self._on_client is not None:
            self._on_client(self)

    def data_received(self, data: bytes) -> None:
        if self.silenced:
            return
        if self._trickle_s is None and not self._waiting:
            self._pass_on(data)
            return
        first = not self._waiting
        self._waiting += data
        if first:
            self._drop()

    def _pass_on(self, data: bytes) -> None:
        if self.peer is not None and self.peer._transport is not None:  # noqa: SLF001  # the other half of one thing
            self.peer._transport.write(data)  # noqa: SLF001  # as above

    def _drop(self) -> None:
        """Pass on one byte of what waits, and the next one later; all of it when the trickle has ended."""
        if self.silenced or self._transport is None or self._transport.is_closing():
            return
        amount = len(self._waiting) if self._trickle_s is None else 1
        data, self._waiting = bytes(self._waiting[:amount]), self._waiting[amount:]
        self._pass_on(data)
        if self._waiting and self._trickle_s is not None:
            asyncio.get_running_loop().call_later(self._trickle_s, self._drop)

    def slow_down(self, every_s: float | None) -> None:
        """Pass on one byte in so many seconds; with None everything."""
        self._trickle_s = every_s
        if every_s is None and self._waiting:
            self._drop()

    def pause_writing(self) -> None:
        self._fill(full=True)

    def resume_writing(self) -> None:
        self._fill(full=False)

    def connection_lost(self, exc: Exception | None) -> None:
        self._ends.discard(self)
        self.closed.set()
        if self.silenced:
            return  # the other end never hears of it
        if self.peer is None or self.peer._transport is None:  # noqa: SLF001  # as above
            return
        if exc is not None:
            self.peer.reset()
        else:
            self.peer._transport.close()  # noqa: SLF001  # as above

    def reset(self) -> None:
        """Close at once with RST; what was not sent yet is lost."""
        if self._transport is not None and not self._transport.is_closing():
            sock = self._transport.get_extra_info("socket")
            with contextlib.suppress(OSError):
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
            self._transport.abort()

    def hold(self, *, stalled: bool) -> None:
        """Read on, or no longer."""
        self._stalled = stalled
        self._read_if_may()

    def _fill(self, *, full: bool) -> None:
        if self.peer is not None:
            self.peer._full = full  # noqa: SLF001  # as above
            self.peer._read_if_may()  # noqa: SLF001  # as above

    def _read_if_may(self) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        if self._stalled or self._full:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()
