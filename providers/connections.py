"""Connections to vendors, which stay open between calls. One call is one request, whatever its connection does.

Between two calls a connection belongs to nobody: what proves who asks travels with each request. Before a request goes
out on a connection that rested, the system is asked whether the server has said anything meanwhile, farewell above all;
then another is taken, and nothing has been sent. Once a request may have gone out, it is not sent again here.

A call has a limit in all; a socket's own bounds each wait.
"""

import atexit
import base64
import http.client
import io
import os
import select
import socket
import ssl
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from threading import Lock
from typing import Any, NamedTuple
from urllib.parse import quote, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx2

from providers.ports.time_limit import TimeLimit

KEPT_S = 4.0
"""How long a connection may rest. Servers close theirs after 5 s or more, and a farewell takes time to arrive."""
CONNECT_S = 5.0
"""How long one address of a server may take to accept a connection; they are tried one after another."""

PORTS = {"http": 80, "https": 443}
ANYTHING = select.POLLIN | select.POLLHUP | select.POLLERR
"""A server has nothing to say to a client that has not asked but farewell."""
AT_ONCE = 65_536
IN_ADDRESS = "!#$%&'()*+,/:;=?@[]~"
"""What may be in a path and its query beside letters and digits."""


class BadAddress(ValueError):
    """The address, or a header, cannot be written, so nothing was asked."""


class NeverConnected(ConnectionError):
    """No connection was made, so nothing was asked."""


class AnswerLost(ConnectionError):
    """The request may have gone out, and no answer came back, or not all of it."""


class Exchanged(NamedTuple):
    """An answer. Names of headers are lower-case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class ServerAddress(NamedTuple):
    """Whom a connection leads to."""

    scheme: str
    host: str
    port: int


@cache
def shared_tls() -> ssl.SSLContext:
    """What a server's certificate is checked with; threads may share it.

    Reading the certificate authorities costs 30 ms of CPU.
    """
    return httpx2.create_ssl_context()


class _LimitedSocket:
    """As much of a socket as http.client uses; its waits end when the call's time does."""

    def __init__(self, sock: socket.socket, limit: TimeLimit) -> None:
        self._sock, self.limit = sock, limit

    def sendall(self, data: Any) -> None:  # noqa: ANN401 - whatever has bytes
        with memoryview(data).cast("B") as left:
            sent = 0
            while sent < len(left):
                self._sock.settimeout(self.limit.left())
                sent += self._sock.send(left[sent:])

    def makefile(self, *_mode: object, **_options: object) -> io.BufferedReader:
        return io.BufferedReader(_LimitedReader(self._sock, self.limit))

    def is_silent(self) -> bool:
        """Whether the server has said nothing that was not read; asks the system, not the server."""
        if isinstance(self._sock, ssl.SSLSocket) and self._sock.pending():
            return False
        poller = select.poll()
        poller.register(self._sock.fileno(), ANYTHING)
        return not poller.poll(0)

    def close(self) -> None:
        self._sock.close()


class _LimitedReader(io.RawIOBase):
    """Reads a socket's file for as long as the call may take."""

    def __init__(self, sock: socket.socket, limit: TimeLimit) -> None:
        self._sock, self._limit = sock, limit
        # It keeps the socket open after http.client has let go of it.
        self._file = sock.makefile("rb", buffering=0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:  # noqa: ANN401 - whatever takes bytes
        self._sock.settimeout(self._limit.left())
        return self._file.readinto(buffer)

    def close(self) -> None:
        self._file.close()
        super().close()


class _Connection(http.client.HTTPConnection):
    """A connection without TLS, to the server itself or to a proxy."""

    auto_open = 0  # what a server has closed must not be opened in the midst of a request
    sock: Any
    full_paths = ""
    """What a proxy wants to read before each path."""
    own_headers: Mapping[str, str] = {}
    """What a proxy wants to know with each request."""
    origin: ServerAddress
    rested_since = 0.0

    def begin(self, limit: TimeLimit) -> None:
        """Serve another call, connected."""
        if self.sock is None:
            self._open(limit)
        else:
            self.sock.limit = limit

    def _open(self, limit: TimeLimit) -> None:
        try:
            self.timeout = limit.left(CONNECT_S)
            self.connect()
        except (OSError, http.client.HTTPException, UnicodeError) as error:
            self.close()
            raise NeverConnected(type(error).__name__) from error
        self.sock = _LimitedSocket(self.sock, limit)


class _TlsConnection(http.client.HTTPSConnection, _Connection):
    """A connection with TLS, through a proxy's tunnel where there is one."""


class Connections:
    """The connections of a process; safe to share between threads, and forgotten by the child of a fork.

    What has rested for too long is closed by the next call, to whomever it goes. A process that calls nobody any more
    keeps what its last calls needed, which the servers close.
    """

    def __init__(self, *, kept_s: float = KEPT_S, monotonic: Callable[[], float] = time.monotonic) -> None:
        """Nothing connects yet."""
        self._kept_s = kept_s
        self._monotonic = monotonic
        self._lock = Lock()
        self._resting: list[_Connection] = []
        """In the order in which they were given back."""

    def exchange(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | None,
        *,
        limit: TimeLimit,
        longest: int,
    ) -> Exchanged:
        """Send one request, once, and read at most `longest` bytes of its answer; redirects are not followed.

        `limit` is the call's, begun by the caller. Raises `BadAddress`, `NeverConnected`, `AnswerLost` or
        `TimeoutError`.
        """
        origin, path, credentials = _read_address(url)
        connection = self._rested(origin) or _made(origin)
        connection.begin(limit)
        sent = {"accept-encoding": "gzip", **headers, **connection.own_headers, **credentials}
        is_whole = False
        try:
            with _losing_the_answer():
                answer = _ask(connection, method, connection.full_paths + path, body, sent)
                read = _read_body(answer, longest)
            is_whole = answer.isclosed() and connection.sock is not None
        finally:
            if is_whole:
                self._give_back(connection)
            else:
                connection.close()
        found = {name.lower(): value for name, value in answer.headers.items()}
        return Exchanged(answer.status, found, _unpacked(read, found, longest))

    def close(self) -> None:
        """Close what rests."""
        with self._lock:
            resting, self._resting = self._resting, []
        for one in resting:
            one.close()

    def forget_parent(self) -> None:
        """Let go of the parent's connections in the child of a fork; the parent's own stay open."""
        self._lock = Lock()  # a thread of the parent may have held it
        self.close()

    def _rested(self, origin: ServerAddress) -> _Connection | None:
        """The connection that has rested for the least time and can still be used."""
        while (found := self._pop(origin)) is not None:
            if found.sock.is_silent():
                return found
            found.close()
        return None

    def _pop(self, origin: ServerAddress) -> _Connection | None:
        since = self._monotonic() - self._kept_s
        with self._lock:
            old = [one for one in self._resting if one.rested_since < since]
            del self._resting[: len(old)]
            found = next((one for one in reversed(self._resting) if one.origin == origin), None)
            if found is not None:
                self._resting.remove(found)
        for one in old:
            one.close()
        return found

    def _give_back(self, connection: _Connection) -> None:
        with self._lock:
            connection.rested_since = self._monotonic()
            self._resting.append(connection)


CONNECTIONS = Connections()
"""This process's."""
os.register_at_fork(after_in_child=CONNECTIONS.forget_parent)
atexit.register(CONNECTIONS.close)


def _read_address(url: str) -> tuple[ServerAddress, str, Mapping[str, str]]:
    """Whom to ask for what, and the header for the name and password that an address may carry."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise BadAddress(type(error).__name__) from error
    if parts.scheme not in PORTS or not parts.hostname:
        raise BadAddress("no address of a server")
    path = quote(f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}", safe=IN_ADDRESS)
    credentials = {} if parts.username is None else {"Authorization": _basic(parts.username, parts.password)}
    return ServerAddress(parts.scheme, parts.hostname, port or PORTS[parts.scheme]), path, credentials


def _basic(name: str, password: str | None) -> str:
    return "Basic " + base64.b64encode(f"{unquote(name)}:{unquote(password or '')}".encode()).decode()


def _made(origin: ServerAddress) -> _Connection:
    """A connection to the server, or to the proxy that the environment names for it; nothing connects yet."""
    found = None if proxy_bypass(f"{origin.host}:{origin.port}") else _proxy(origin.scheme)
    at = origin if found is None else found
    is_secure = origin.scheme == "https"
    made = _TlsConnection(at.host, at.port, context=shared_tls()) if is_secure else _Connection(at.host, at.port)
    if found is not None and is_secure:
        made.set_tunnel(origin.host, origin.port, found.headers)
    elif found is not None:
        host = f"[{origin.host}]" if ":" in origin.host else origin.host
        port = "" if origin.port == PORTS["http"] else f":{origin.port}"
        made.full_paths, made.own_headers = f"http://{host}{port}", found.headers
    made.origin = origin
    return made


class _Proxy(NamedTuple):
    host: str
    port: int
    headers: dict[str, str]


def _proxy(scheme: str) -> _Proxy | None:
    found = getproxies().get(scheme) or getproxies().get("all")
    if not found:
        return None
    proxy = urlsplit(found if "://" in found else f"http://{found}")
    if proxy.scheme != "http" or not proxy.hostname:
        raise NeverConnected("the environment names a proxy that is none of http")
    proof = {} if proxy.username is None else {"Proxy-Authorization": _basic(proxy.username, proxy.password)}
    return _Proxy(proxy.hostname, proxy.port or PORTS["http"], proof)


def _ask(
    connection: _Connection, method: str, path: str, body: bytes | None, headers: Mapping[str, str]
) -> http.client.HTTPResponse:
    # A server may answer, and close, before it has read all: one for which a request is too large.
    with suppress(BrokenPipeError, ConnectionResetError):
        try:
            connection.request(method, path, body, headers)
        except ValueError as error:
            raise BadAddress("the address or a header has characters that none has") from error
    return connection.getresponse()


def _read_body(answer: http.client.HTTPResponse, longest: int) -> bytes:
    read = bytearray()
    while len(read) < longest:
        chunk = answer.read(min(AT_ONCE, longest - len(read)))
        if not chunk:
            break
        read += chunk
    if answer.length and len(read) < longest:
        raise AnswerLost("the body was cut short")
    return bytes(read)


def _unpacked(body: bytes, headers: Mapping[str, str], longest: int) -> bytes:
    if headers.get("content-encoding", "").lower() not in {"gzip", "x-gzip"}:
        return body
    try:
        return zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(body, longest)
    except zlib.error as error:
        raise AnswerLost("the body cannot be unpacked") from error


@contextmanager
def _losing_the_answer() -> Iterator[None]:
    try:
        yield
    except (TimeoutError, AnswerLost):
        raise
    except (OSError, http.client.HTTPException) as error:
        raise AnswerLost(type(error).__name__) from error
