"""A raw socket server that answers as told, for what no well-behaved HTTP server does."""

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True)
class Seen:
    """A request as it arrived."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:  # noqa: ANN401  # JSON may be anything
        return json.loads(self.body)


Conduct = Callable[[socket.socket], bool]
"""What the server does with a request; False closes the connection."""


def reply(status: int, body: object = None, headers: Mapping[str, str] | None = None) -> Conduct:
    content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    fields = {"Content-Type": "application/json", "Content-Length": str(len(content)), **(headers or {})}
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())

    def answer(connection: socket.socket) -> bool:
        connection.sendall(f"HTTP/1.1 {status} Whatever\r\n{head}\r\n".encode() + content)
        return True

    return answer


def drop(_connection: socket.socket) -> bool:
    """Close without an answer."""
    return False


def cut_short(connection: socket.socket) -> bool:
    """Close in the middle of the answer's body."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
    return False


def hang(connection: socket.socket) -> bool:
    """Say nothing until the client goes away."""
    connection.recv(1)
    return False


def trickle(every_s: float, head: bytes = b"HTTP/1.1 200 OK\r\n") -> Conduct:
    """Answer byte by byte, without end: each byte comes before any timeout of a socket."""

    def answer(connection: socket.socket) -> bool:
        connection.sendall(head)
        connection.settimeout(every_s)
        with contextlib.suppress(ConnectionError):
            while True:
                connection.sendall(b"x")
                with contextlib.suppress(TimeoutError):
                    if not connection.recv(1):
                        break
        return False

    return answer


BODY = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n"
"""A head after which a body trickles."""


class Wire:
    """Serves one connection after another; the last conduct stays for all further requests."""

    def __init__(self, *conducts: Conduct) -> None:
        self.seen: list[Seen] = []
        self._conducts = list(conducts)
        self._lock = threading.Lock()
        self._open: list[socket.socket] = []
        self.left = threading.Semaphore(0)
        """Can be acquired as often as a client has closed a connection."""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_exception: object) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.hang_up()

    @property
    def connections(self) -> int:
        """How many were made."""
        with self._lock:
            return len(self._open)

    def hang_up(self) -> None:
        """Close what is open, as a server does whose clients have rested for long."""
        with self._lock:
            for connection in self._open:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                with self._lock:
                    self._open.append(connection)
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as stream, contextlib.suppress(OSError):
            while (request := self._read(stream)) is not None:
                with self._lock:
                    self.seen.append(request)
                    conduct = self._conducts.pop(0) if len(self._conducts) > 1 else self._conducts[0]
                if not conduct(connection):
                    connection.shutdown(socket.SHUT_RDWR)
                    return
            self.left.release()

    @staticmethod
    def _read(stream: Any) -> Seen | None:  # noqa: ANN401  # what makefile returns has no public name
        first = stream.readline().decode()
        if not first:
            return None
        method, target, _ = first.split()
        headers: dict[str, str] = {}
        while line := stream.readline().decode().strip():
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        return Seen(method, target, headers, stream.read(int(headers.get("content-length", 0))))
