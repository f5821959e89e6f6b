"""The proxy forwards faithfully, and cuts, stalls and resumes on request."""

import socket
import threading
from collections.abc import Iterator

import pytest

from sandbox.servers.free_port import LOOPBACK, find_free_port
from sandbox.servers.tcp_proxy import TcpProxy
from tests.waiting import eventually


class Echo(threading.Thread):
    """An echo server, until a connection ends."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.listening = socket.create_server((LOOPBACK, find_free_port()))
        self.port: int = self.listening.getsockname()[1]
        self.ended: list[str] = []

    def run(self) -> None:
        while True:
            try:
                connection, _ = self.listening.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=[connection], daemon=True).start()

    def serve(self, connection: socket.socket) -> None:
        with connection:
            try:
                while heard := connection.recv(65536):
                    connection.sendall(heard)
            except ConnectionError:
                self.ended.append("reset")
            else:
                self.ended.append("closed")

    def close(self) -> None:
        self.listening.shutdown(socket.SHUT_RDWR)
        self.listening.close()
        self.join()


@pytest.fixture
def echo() -> Iterator[Echo]:
    server = Echo()
    server.start()
    yield server
    server.close()


@pytest.fixture
def proxy(echo: Echo) -> Iterator[TcpProxy]:
    with TcpProxy(echo.port) as proxy:
        yield proxy


def connect(proxy: TcpProxy) -> socket.socket:
    return socket.create_connection((LOOPBACK, proxy.port), timeout=10)


def hear(connection: socket.socket, length: int) -> bytes:
    heard = b""
    while len(heard) < length:
        part = connection.recv(65536)
        assert part, f"closed after {len(heard)} of {length} bytes"
        heard += part
    return heard


def test_bytes_go_through_unchanged_and_in_order(proxy: TcpProxy) -> None:
    # More than all buffers between can hold, so that each end must wait for the other.
    said = bytes(range(256)) * 40_000
    with connect(proxy) as connection:
        speaker = threading.Thread(target=connection.sendall, args=[said])
        speaker.start()
        assert hear(connection, len(said)) == said
        speaker.join()


def test_an_end_is_passed_on(proxy: TcpProxy, echo: Echo) -> None:
    with connect(proxy) as connection:
        connection.sendall(b"x")
        assert hear(connection, 1) == b"x"
    eventually(lambda: echo.ended == ["closed"], describe="the end to reach the server")
    assert proxy.connections == 0


def test_a_cut_resets_every_connection_on_both_sides_and_lets_new_ones_in(proxy: TcpProxy, echo: Echo) -> None:
    with connect(proxy) as first, connect(proxy) as second:
        for connection in (first, second):
            connection.sendall(b"x")
            assert hear(connection, 1) == b"x"
        assert proxy.cut() == 2
        for connection in (first, second):
            with pytest.raises(ConnectionResetError):
                connection.recv(1)
    eventually(lambda: echo.ended == ["reset", "reset"], describe="both servers to notice")
    with connect(proxy) as third:
        third.sendall(b"y")
        assert hear(third, 1) == b"y"


def test_a_stall_accepts_and_forwards_nothing_until_it_resumes(proxy: TcpProxy) -> None:
    with connect(proxy) as before:
        before.sendall(b"x")
        assert hear(before, 1) == b"x"
        proxy.stall()
        with connect(proxy) as during:
            for connection, word in ((before, b"before"), (during, b"during")):
                connection.sendall(word)
                connection.settimeout(0.2)
                with pytest.raises(TimeoutError):
                    connection.recv(1)
                connection.settimeout(10)
            assert proxy.stalled
            proxy.resume()
            assert hear(before, 6) == b"before"
            assert hear(during, 6) == b"during"


def test_stalled_connections_can_be_cut(proxy: TcpProxy) -> None:
    with connect(proxy) as connection:
        connection.sendall(b"x")
        assert hear(connection, 1) == b"x"
        proxy.stall()
        assert proxy.cut() == 1
        with pytest.raises(ConnectionResetError):
            connection.recv(1)


def test_an_upstream_that_is_not_there_resets_the_client() -> None:
    # The reset may come as early as while the client still connects.
    with (
        TcpProxy(find_free_port()) as proxy,
        pytest.raises(ConnectionResetError),
        connect(proxy) as connection,
    ):
        connection.recv(1)


def test_a_proxy_that_does_not_run_refuses_calls() -> None:
    with pytest.raises(RuntimeError, match="does not run"):
        TcpProxy(1).cut()


def test_silenced_connections_stay_open_and_hear_nothing_while_new_ones_work(proxy: TcpProxy) -> None:
    with socket.create_connection((LOOPBACK, proxy.port)) as old:
        old.sendall(b"heard")
        assert old.recv(5) == b"heard"
        assert proxy.silence() == 1
        old.sendall(b"lost")
        with socket.create_connection((LOOPBACK, proxy.port)) as new:
            new.sendall(b"heard")
            assert new.recv(5) == b"heard"
        old.settimeout(0.0)
        with pytest.raises(BlockingIOError):
            old.recv(1)


def test_a_trickle_brings_answers_byte_by_byte_until_it_ends(proxy: TcpProxy) -> None:
    with socket.create_connection((LOOPBACK, proxy.port)) as client:
        proxy.trickle(every_s=60)
        client.sendall(b"slowly")
        assert client.recv(6) == b"s"
        proxy.trickle(every_s=None)
        heard = b""
        while len(heard) < len("lowly"):
            heard += client.recv(6)
        assert heard == b"lowly"
