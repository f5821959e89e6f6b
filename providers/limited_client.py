"""An HTTP client whose calls are limited in all; its own timeouts bound each wait on the socket.

There is no public way to give httpx2 another network: its client makes its transports itself, one for each proxy of the
environment. A test finds out when the names used here are gone.
"""

import ssl
from collections.abc import Iterable
from functools import cache
from typing import Any, TypeVar

import httpcore2
import httpx2

from providers.ports.time_limit import TimeLimit

Client = TypeVar("Client", bound=httpx2.Client)


@cache
def shared_tls() -> ssl.SSLContext:
    """What clients check a server's certificate with, as httpx2 makes it: threads and clients may share it.

    Reading the certificate authorities costs 30 ms of CPU, which each client would spend anew.
    """
    return httpx2.create_ssl_context()


class LimitedStream(httpcore2.NetworkStream):
    """A connection whose waits end when the call's time does."""

    def __init__(self, stream: httpcore2.NetworkStream, limit: TimeLimit) -> None:
        """Wrap a connection."""
        self._stream, self._limit = stream, limit

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """As httpcore2's; raises `ReadTimeout`."""
        return self._stream.read(max_bytes, left(self._limit, timeout, httpcore2.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """As httpcore2's; raises `WriteTimeout`."""
        view = memoryview(buffer)
        for start in range(0, len(view), AT_ONCE):
            part = bytes(view[start : start + AT_ONCE])
            self._stream.write(part, left(self._limit, timeout, httpcore2.WriteTimeout))

    def close(self) -> None:
        """Close the connection."""
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        """As httpcore2's; raises `ConnectTimeout`."""
        wait_s = left(self._limit, timeout, httpcore2.ConnectTimeout)
        return LimitedStream(self._stream.start_tls(ssl_context, server_hostname, wait_s), self._limit)

    def get_extra_info(self, info: str) -> Any:  # noqa: ANN401 - httpcore2's signature
        """What httpcore2 knows of the connection."""
        return self._stream.get_extra_info(info)


AT_ONCE = 65_536
"""Bytes after which a writer looks at the time."""


class LimitedNetwork(httpcore2.SyncBackend):
    """Makes such connections."""

    def __init__(self, limit: TimeLimit) -> None:
        """Every thread's call has its own time in `limit`."""
        super().__init__()
        self._limit = limit

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        """As httpcore2's; raises `ConnectTimeout`."""
        wait_s = left(self._limit, timeout, httpcore2.ConnectTimeout)
        return LimitedStream(super().connect_tcp(host, port, wait_s, local_address, socket_options), self._limit)


def limited(client: Client, limit: TimeLimit) -> Client:
    """The same client with limited calls, through proxies too."""
    for transport in (client._transport, *client._mounts.values()):  # noqa: SLF001 - see above
        pool = getattr(transport, "_pool", None)
        if pool is not None:
            pool._network_backend = LimitedNetwork(limit)  # noqa: SLF001 - see above
    return client


def left(limit: TimeLimit, most: float | None, error: type[Exception]) -> float:
    """The seconds that the call has left, at most so many; raises `error` when none is."""
    try:
        return limit.left(most)
    except TimeoutError as over:
        raise error(str(over)) from over
