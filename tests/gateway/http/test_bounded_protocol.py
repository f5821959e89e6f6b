"""A client that never finishes what it says loses its connection, whatever it sends meanwhile."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest
import uvicorn

from gateway.__main__ import server
from gateway.http.bounded_protocol import BoundedProtocol
from settings import Settings
from tests.gateway.serving import serve
from tests.waiting import eventually


class Impatient(BoundedProtocol):
    """The same with bounds that a test can wait for."""

    head_within_s = 0.3
    rest_within_s = 0.3
    taken_within_s = 0.3


@pytest.fixture
def gateway(settings: Settings) -> Iterator[str]:
    with serve(settings, http=Impatient) as url:
        yield url


@contextmanager
def connected(url: str) -> Iterator[socket.socket]:
    address = urlsplit(url)
    with socket.create_connection((address.hostname or "", address.port or 0), timeout=20) as connection:
        yield connection


def ends_while_sending(connection: socket.socket, trickle: bytes) -> bool:
    """Whether the server closes the connection though a byte comes now and then."""

    def closed() -> bool:
        try:
            connection.sendall(trickle)
            connection.settimeout(0.02)
            return connection.recv(4096) == b""
        except TimeoutError:
            return False
        except OSError:
            return True

    return eventually(closed, within=10, describe="the connection was never closed")


@pytest.mark.parametrize("sent", [b"", b"GET /healthz HTTP/1.1\r\nHost: x\r\n", b"GET /heal"])
def test_a_head_that_does_not_end_ends_the_connection(gateway: str, sent: bytes) -> None:
    with connected(gateway) as connection:
        connection.sendall(sent)
        assert ends_while_sending(connection, b"" if not sent else b"X")


def test_a_second_head_has_the_same_bound(gateway: str) -> None:
    with connected(gateway) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert connection.recv(4096).startswith(b"HTTP/1.1 200 OK")
        connection.sendall(b"GET /heal")
        assert ends_while_sending(connection, b"X")


def test_a_refused_body_that_goes_on_ends_the_connection(gateway: str) -> None:
    with connected(gateway) as connection:
        connection.sendall(b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n")
        assert connection.recv(4096).startswith(b"HTTP/1.1 401")
        assert ends_while_sending(connection, b"x")


def test_whole_requests_share_a_connection(gateway: str) -> None:
    with connected(gateway) as connection:
        for _ in range(3):
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            answer = b""
            while not answer.endswith(b'"ok"}'):
                received = connection.recv(4096)
                assert received, "the connection was closed"
                answer += received


def test_an_answer_that_nobody_reads_ends_the_connection(gateway: str) -> None:
    """What is asked for is more than the network holds between the two, and the client goes on asking."""
    with connected(gateway) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        request = b"GET /v1/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n"
        assert eventually(lambda: is_lost(connection, request), within=20, describe="the connection was never closed")


def is_lost(connection: socket.socket, request: bytes) -> bool:
    connection.settimeout(0.05)
    try:
        connection.sendall(request * 10)
    except TimeoutError:
        return False
    except OSError:
        return True
    return False


def test_what_is_deployed_serves_with_these_bounds() -> None:
    made: uvicorn.Server = server("127.0.0.1", 0)
    assert made.config.http is BoundedProtocol
    assert made.config.limit_concurrency
    assert made.config.timeout_graceful_shutdown
