"""The HTTP transport for Google's APIs: what changes anything is sent once, whatever the connection does.

httplib2 sends a request again when the server closes the connection before it answers, POSTs too,
so one call may send two mails and report one success. Here a request other than GET or HEAD goes
out on a connection of its own, and every error on it is one that httplib2's loop does not repeat.
"""

import http.client
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import httplib2

Body = str | bytes | None

REPEATABLE = frozenset({"GET", "HEAD"})


class NeverConnected(ConnectionError):
    """No connection was made, so nothing was asked."""


class AnswerLost(ConnectionError):
    """The request may have gone out, and no answer came back."""


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

    `timeout_s` bounds each wait on the socket. `access_token` is sent as it is: google-auth's own
    transport would refresh it on a 401 and start look-ups of its own in the background.
    Not thread-safe; close it after use.
    """

    def __init__(self, *, timeout_s: float, access_token: str | None = None) -> None:
        """Keep the token for the `Authorization` header of every request."""
        super().__init__(timeout=timeout_s)
        self.follow_redirects = False
        self._access_token = access_token

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
        response, content = super().request(uri, method, body, sent, **options)
        return response, content

    def _conn_request(
        self, conn: http.client.HTTPConnection, request_uri: str, method: str, body: Body, headers: dict[str, str]
    ) -> tuple[httplib2.Response, bytes]:
        once = conn if method in REPEATABLE else _OneAttempt(conn)
        response, content = super()._conn_request(once, request_uri, method, body, headers)
        return response, content
