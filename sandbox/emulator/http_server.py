"""A threaded HTTP/1.1 server that hands each request to a function and leaves no thread behind when it is stopped."""

import struct
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import SHUT_RDWR, SO_LINGER, SOL_SOCKET, socket
from threading import Lock
from typing import cast
from urllib.parse import parse_qs, urlsplit

from sandbox.emulator.exchange import Answer, Call

Responder = Callable[[Call], Answer | None]


class EmulatorServer(ThreadingHTTPServer):
    """Serves until `stop`, which cuts open connections and joins every thread."""

    daemon_threads = False
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], responder: Responder) -> None:
        """Binds at once; serves when `serve_forever` runs."""
        super().__init__(address, _RequestHandler)
        self.responder = responder
        self._connections: set[socket] = set()
        self._lock = Lock()
        self._stopped = False

    def opened(self, connection: socket) -> None:
        """Remember a connection; a connection made while stopping is cut."""
        with self._lock:
            self._connections.add(connection)
            if self._stopped:
                _cut(connection)

    def closed(self, connection: socket) -> None:
        """Forget a connection."""
        with self._lock:
            self._connections.discard(connection)

    def stop(self) -> None:
        """Accept no more connections, cut those that are open, and join the threads."""
        self.socket.shutdown(SHUT_RDWR)  # wakes the serving thread, which otherwise sees the end at its next poll
        self.shutdown()
        with self._lock:
            self._stopped = True
            for connection in self._connections:
                _cut(connection)
        self.server_close()


class _RequestHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # headers and body leave in one write; http.server flushes after each request

    def setup(self) -> None:
        super().setup()
        cast("EmulatorServer", self.server).opened(self.connection)

    def finish(self) -> None:
        with suppress(OSError):  # the peer may be gone before the last flush
            super().finish()
        cast("EmulatorServer", self.server).closed(self.connection)

    def handle(self) -> None:
        with suppress(ConnectionError):  # a client may disconnect at any time
            super().handle()

    def log_message(self, *_arguments: object) -> None:
        """Log nothing: the journal has every call."""

    def _serve(self) -> None:
        answer = cast("EmulatorServer", self.server).responder(self._call())
        if answer is None or answer.ending == "reset":
            self.close_connection = True
            if answer is not None:
                _reset(self.connection)
            _cut(self.connection)
            return
        payload = answer.payload()
        self.send_response(answer.status)
        if payload and "Content-Type" not in answer.headers:
            self.send_header("Content-Type", "application/json; charset=UTF-8")
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if answer.status != HTTPStatus.NO_CONTENT:
            self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        if answer.ending == "cut":
            self.close_connection = True
            payload = payload[: len(payload) // 2]
        if self.command != "HEAD":
            self.wfile.write(payload)

    def _call(self) -> Call:
        parts = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        # googleapiclient turns a GET with a long address into a POST that carries the query as its body
        method = headers.get("x-http-method-override", self.command)
        overridden = method != self.command
        query = parse_qs(body.decode() if overridden else parts.query, keep_blank_values=True)
        return Call(method, parts.path, query, headers, b"" if overridden else body)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = _serve  # noqa: N815  # http.server looks for these names


def _reset(connection: socket) -> None:
    """Let the close send RST instead of FIN."""
    connection.setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))


def _cut(connection: socket) -> None:
    with suppress(OSError):  # it may be closed already
        connection.shutdown(SHUT_RDWR)
