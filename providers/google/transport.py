"""The HTTP transport for Google's APIs: what changes anything is sent once, whatever the connection does.

httplib2 sends a request again when the server closes the connection before it answers, POSTs too,
so one call may send two mails and report one success. Here a request other than GET or HEAD goes
out on a connection of its own, and every error on it is one that httplib2's loop does not repeat.

A call has a limit in all, repetitions too: httplib2's timeout bounds each wait on the socket.
"""

import http.client
import io
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import httplib2

from observability.job_spans import call_span
from providers.ports.time_limit import TimeLimit

Body = str | bytes | None

REPEATABLE = frozenset({"GET", "HEAD"})


class NeverConnected(ConnectionError):
    """No connection was made, so nothing was asked."""


class AnswerLost(ConnectionError):
    """The request may have gone out, and no answer came back."""


CONNECT_S = 5.0
"""How long one address may take to accept a connection; httplib2 tries one after another."""


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


class _LimitedSocket:
    """As much of a socket as http.client uses; its waits end when the call's time does."""

    def __init__(self, sock: socket.socket, limit: TimeLimit) -> None:
        self._sock, self._limit = sock, limit

    def sendall(self, data: Any) -> None:  # noqa: ANN401 - whatever has bytes
        with memoryview(data).cast("B") as left:
            sent = 0
            while sent < len(left):
                self._sock.settimeout(self._limit.left())
                sent += self._sock.send(left[sent:])

    def makefile(self, *_mode: object, **_options: object) -> io.BufferedReader:
        return io.BufferedReader(_LimitedReader(self._sock, self._limit))

    def close(self) -> None:
        self._sock.close()


class _Limited:
    """A connection of httplib2's whose calls are limited in all."""

    limit: TimeLimit
    sock: Any
    timeout: float | None

    def connect(self) -> None:
        self.timeout = self.limit.left(CONNECT_S)
        super().connect()  # type: ignore[misc] # the connection's own
        self.sock = _LimitedSocket(self.sock, self.limit)


class _LimitedHttp(_Limited, httplib2.HTTPConnectionWithTimeout):  # type: ignore[misc]  # httplib2 ships no types
    """Without TLS, for emulators."""


class _LimitedHttps(_Limited, httplib2.HTTPSConnectionWithTimeout):  # type: ignore[misc]  # as above
    """With TLS."""


class _OneAttempt:
    """A connection whose errors httplib2 passes on instead of connecting and sending again."""

    def __init__(self, connection: http.client.HTTPConnection) -> None:
        # An idle connection may have been closed by the server without our knowing.
        connection.close()
        self._connection = connection

    @property
    def sock(self) -> socket.socket | None:
        return self._connection.sock

    @property
    def host(self) -> str:
        return self._connection.host

    def connect(self) -> None:
        try:
            self._connection.connect()
        except (OSError, httplib2.HttpLib2Error) as error:
            raise NeverConnected(type(error).__name__) from error

    def request(self, method: str, uri: str, body: Body, headers: dict[str, str]) -> None:
        with _losing_the_answer():
            self._connection.request(method, uri, body, headers)

    def getresponse(self) -> http.client.HTTPResponse:
        with _losing_the_answer():
            return self._connection.getresponse()

    def close(self) -> None:
        self._connection.close()


@contextmanager
def _losing_the_answer() -> Iterator[None]:
    try:
        yield
    except TimeoutError:
        raise
    except (OSError, http.client.HTTPException) as error:
        raise AnswerLost(type(error).__name__) from error


class NoReplayHttp(httplib2.Http):  # type: ignore[misc]  # httplib2 ships no types
    """An `httplib2.Http` that never sends twice, never follows a redirect and never refreshes a token.

    `timeout_s` bounds each request in all, repetitions too. `access_token` is sent as it is: google-auth's own
    transport would refresh it on a 401 and start look-ups of its own in the background.
    Not thread-safe; close it after use.
    """

    def __init__(self, *, timeout_s: float, access_token: str | None = None) -> None:
        """Keep the token for the `Authorization` header of every request."""
        super().__init__(timeout=timeout_s)
        self.follow_redirects = False
        self._access_token = access_token
        self._limit = TimeLimit()
        self._limit_s = timeout_s

    def request(
        self,
        uri: str,
        method: str = "GET",
        body: Body = None,
        headers: Mapping[str, str] | None = None,
        **options: object,
    ) -> tuple[httplib2.Response, bytes]:
        """One request; raises `OSError`, `http.client.HTTPException` or `httplib2.HttpLib2Error`."""
        sent = dict(headers or {})
        if self._access_token is not None:
            sent["authorization"] = f"Bearer {self._access_token}"
        self._limit.begin(self._limit_s)
        kind = _LimitedHttps if uri.startswith("https:") else _LimitedHttp
        with call_span("google", method, uri) as traced:
            response, content = super().request(uri, method, body, sent, connection_type=kind, **options)
            traced.note({"http.response.status_code": response.status})
        return response, content

    def _conn_request(
        self, conn: http.client.HTTPConnection, request_uri: str, method: str, body: Body, headers: dict[str, str]
    ) -> tuple[httplib2.Response, bytes]:
        conn.limit = self._limit  # type: ignore[attr-defined] # each is one of ours
        once = conn if method in REPEATABLE else _OneAttempt(conn)
        response, content = super()._conn_request(once, request_uri, method, body, headers)
        return response, content
