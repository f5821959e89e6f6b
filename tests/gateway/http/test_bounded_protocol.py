"""A client loses its connection when it never finishes, when it sends more form than content, and when others wait."""

import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from urllib.parse import urlsplit

import pytest
import uvicorn

from gateway.__main__ import server
from gateway.http.bounded_protocol import LONGEST_FRAMING, MOST_FIELDS, MOST_PIPELINED, BoundedProtocol
from settings import Settings
from tests.gateway.serving import ask, serve
from tests.waiting import eventually


class Impatient(BoundedProtocol):
    """The same with bounds that a test can wait for."""

    client_within_s = 0.3


class Small(BoundedProtocol):
    """The same with few connections."""

    most_connections = 3


class Full(BoundedProtocol):
    """The same, as if all the requests that it may take were being answered."""

    most_connections = 0


@pytest.fixture
def gateway(settings: Settings) -> Iterator[str]:
    with serve(settings, http=Impatient) as url:
        ask(f"{url}/v1/jobs", b"{}")  # the first request of an application takes several times as long as the next
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


@pytest.mark.parametrize("field", ["", "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"])
def test_whole_requests_share_a_connection(patient: str, field: str) -> None:
    with connected(patient) as connection:
        for _ in range(3):
            connection.sendall(f"GET /healthz HTTP/1.1\r\nHost: x\r\n{field}\r\n".encode())
            answer = b""
            while not answer.endswith(b'"ok"}'):
                received = connection.recv(4096)
                assert received, "the connection was closed"
                answer += received


def test_an_answer_that_nobody_reads_ends_the_connection(gateway: str) -> None:
    """What is asked for is more than the network holds between the two."""
    with connected(gateway) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.sendall(b"GET /v1/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" * MOST_PIPELINED)
        eventually(lambda: is_lost(connection), within=20, describe="the connection was never closed")


def is_lost(connection: socket.socket) -> bool:
    try:
        connection.sendall(b"\r\n")
    except OSError:
        return True
    return False


@pytest.fixture
def patient(settings: Settings) -> Iterator[str]:
    with serve(settings) as url:
        yield url


def answers(url: str, sent: bytes) -> bytes:
    """All that is answered until the server closes the connection."""
    received = b""
    with connected(url) as connection, suppress(ConnectionError):
        with suppress(ConnectionError):
            connection.sendall(sent)
        while part := connection.recv(65_536):
            received += part
    return received


def statuses(url: str, sent: bytes) -> list[bytes]:
    return re.findall(rb"HTTP/1\.1 (\d+) ", answers(url, sent))


def ends(connection: socket.socket) -> bool:
    try:
        return connection.recv(4096) == b""
    except ConnectionError:
        return True


PRESS = b"POST /webhooks/discord/interactions HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
"""Its body is read before its sender is verified."""
NOWHERE = b"POST /nowhere HTTP/1.1\r\nHost: x\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"
BYTES = b"1\r\nx\r\n" * (LONGEST_FRAMING // 4)


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (PRESS + CHUNKED + BYTES, [b"400"]),
        (NOWHERE + CHUNKED + BYTES, [b"404"]),
        (PRESS + CHUNKED + b"1;" + b"e" * 2 * LONGEST_FRAMING, [b"400"]),
        (PRESS + CHUNKED + b"0\r\n" + b"a: b\r\n" * LONGEST_FRAMING, [b"400"]),
        (PRESS + b"a: b\r\n" * (MOST_FIELDS + 1), [b"400"]),
        (b"GET /" + b"a" * 2 * LONGEST_FRAMING, [b"400"]),
        (PRESS + b"a: " + b"a" * 2 * LONGEST_FRAMING, [b"400"]),
        (PRESS + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", [b"400"]),
    ],
    ids=["chunks", "chunks of the rest", "extension", "trailers", "fields", "path", "field", "two lengths"],
)
def test_more_form_than_content_is_refused(patient: str, sent: bytes, status: list[bytes]) -> None:
    assert statuses(patient, sent) == status


def test_chunks_as_proxies_send_them_are_read(patient: str) -> None:
    chunks = (b"400\r\n" + b"x" * 1024 + b"\r\n") * 200 + b"0\r\n\r\n"
    assert statuses(patient, PRESS + CHUNKED + chunks) == [b"401"]


def test_a_trailer_is_no_field_of_the_head(patient: str) -> None:
    answer = answers(patient, PRESS + CHUNKED + b"0\r\nX-Request-Id: of-a-trailer\r\n\r\n")
    assert b"x-request-id" in answer
    assert b"of-a-trailer" not in answer


def test_requests_that_wait_behind_each_other_are_few(patient: str) -> None:
    request = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    last = b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    assert statuses(patient, request * MOST_PIPELINED + last) == [b"200"] * (MOST_PIPELINED + 1)
    assert len(statuses(patient, request * 10_000)) < 1_000


def test_too_many_connections_lose_the_one_that_waited_longest(settings: Settings) -> None:
    with serve(settings, http=Small) as url, ExitStack() as opened:
        clients = []
        for _ in range(5):
            clients.append(opened.enter_context(connected(url)))
            clients[-1].sendall(b"GET /healthz HTTP/1.1\r\n")
        assert [ends(client) for client in clients[:2]] == [True, True]
        clients[4].sendall(b"Host: x\r\n\r\n")
        assert clients[4].recv(4096).startswith(b"HTTP/1.1 200 OK")


def test_probes_are_answered_when_all_else_is_refused(settings: Settings) -> None:
    with serve(settings, http=Full) as url:
        assert (ask(f"{url}/v1/jobs").status, ask(f"{url}/healthz").status) == (503, 200)


def test_what_is_deployed_serves_with_these_bounds() -> None:
    made: uvicorn.Server = server("127.0.0.1", 0)
    assert made.config.http is BoundedProtocol
    assert made.config.timeout_graceful_shutdown
