"""One request is one request on a connection that stays; one that was lost while it rested costs nothing."""

import gzip
import os
import socket
import threading
from base64 import b64encode
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from threading import Barrier

import pytest

from providers.connections import CONNECTIONS, KEPT_S, AnswerLost, BadAddress, Connections, Exchanged, NeverConnected
from providers.ports.time_limit import TimeLimit
from tests.engine.celery_patches.tls_listener import Listener, make_certificate
from tests.providers.wire import Conduct, Wire, cut_short, drop, reply

LONGEST = 10_000
FINE = reply(200, {"fine": True})


def ask(
    connections: Connections, url: str, method: str = "POST", body: bytes | None = b"{}", **headers: str
) -> Exchanged:
    limit = TimeLimit()
    limit.begin(5)
    return connections.exchange(method, url, headers, body, limit=limit, longest=LONGEST)


@pytest.fixture
def connections() -> Iterator[Connections]:
    made = Connections()
    yield made
    made.close()


def saying(extra: bytes) -> Conduct:
    """An answer, and more than was asked for."""

    def answer(connection: socket.socket) -> bool:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" + extra)
        return True

    return answer


def test_calls_in_turn_share_a_connection(connections: Connections) -> None:
    with Wire(FINE) as wire:
        for method in ("GET", "POST", "DELETE", "PUT"):
            answer = ask(connections, wire.url, method)
            assert (answer.status, answer.headers["content-type"], answer.body) == (
                200,
                "application/json",
                b'{"fine": true}',
            )
        assert (wire.connections, [seen.method for seen in wire.seen]) == (1, ["GET", "POST", "DELETE", "PUT"])


def test_calls_at_one_time_have_a_connection_each(connections: Connections) -> None:
    together = Barrier(3)

    def meet(connection: socket.socket) -> bool:
        together.wait(10)
        return FINE(connection)

    with Wire(meet) as wire, ThreadPoolExecutor(3) as threads:
        for _ in range(2):
            assert {one.status for one in threads.map(lambda _: ask(connections, wire.url), range(3))} == {200}
        assert wire.connections == 3


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE"])
def test_a_connection_that_the_server_closed_while_it_rested_costs_nothing(
    connections: Connections, method: str
) -> None:
    with Wire(FINE) as wire:
        for _ in range(3):
            assert ask(connections, wire.url, method).status == 200
            wire.hang_up()
        assert (wire.connections, len(wire.seen)) == (3, 3)


@pytest.mark.parametrize("conduct", [drop, cut_short], ids=["dropped", "cut short"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_what_is_lost_on_a_kept_connection_is_not_sent_again(
    connections: Connections, method: str, conduct: Conduct
) -> None:
    with Wire(FINE, conduct, FINE) as wire:
        ask(connections, wire.url)
        with pytest.raises(AnswerLost):
            ask(connections, wire.url, method)
        assert (wire.connections, len(wire.seen)) == (1, 2)
        assert ask(connections, wire.url).status == 200
        assert wire.connections == 2


def test_a_connection_that_rested_for_long_is_closed_by_the_next_call_to_anybody() -> None:
    now = [0.0]
    connections = Connections(monotonic=lambda: now[0])
    with Wire(FINE) as wire, Wire(FINE) as other:
        ask(connections, wire.url)
        now[0] = KEPT_S
        ask(connections, wire.url)
        assert wire.connections == 1
        now[0] = 3 * KEPT_S
        ask(connections, other.url)
        assert wire.left.acquire(timeout=10)
        ask(connections, wire.url)
        assert wire.connections == 2
    connections.close()


@pytest.mark.parametrize(
    "conduct",
    [
        reply(200, {"fine": True}, {"Connection": "close"}),
        saying(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged" * 20_000),
        reply(200, b"x" * (LONGEST + 1)),
    ],
    ids=["the server says so", "more came than was asked for", "not all was read"],
)
def test_what_may_hold_anothers_answer_is_not_kept(connections: Connections, conduct: Conduct) -> None:
    with Wire(conduct, FINE) as wire:
        ask(connections, wire.url)
        assert ask(connections, wire.url).body == b'{"fine": true}'
        assert wire.connections == 2


def test_nothing_of_one_request_reaches_the_next(connections: Connections) -> None:
    with Wire(FINE) as wire:
        host = wire.url.removeprefix("http://")
        ask(connections, wire.url, Authorization="Bearer ada", Cookie="ada")
        ask(connections, f"http://bob:pass%20word@{host}/")
        ask(connections, wire.url)
        told = [(seen.headers.get("authorization"), seen.headers.get("cookie")) for seen in wire.seen]
        assert told == [("Bearer ada", "ada"), (f"Basic {b64encode(b'bob:pass word').decode()}", None), (None, None)]
        assert wire.connections == 1


def fork_and_ask(url: str) -> None:
    """Ask, fork, and ask in both processes, in the child first."""
    ask(CONNECTIONS, url)
    child = os.fork()
    if child == 0:
        ask(CONNECTIONS, url)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    ask(CONNECTIONS, url)


def test_the_child_of_a_fork_leaves_its_parents_connections_to_the_parent() -> None:
    with Wire(FINE) as wire:
        process = get_context("spawn").Process(target=fork_and_ask, args=(wire.url,))
        process.start()
        process.join(60)
        assert process.exitcode == 0
        assert (wire.connections, len(wire.seen)) == (2, 3)


def ask_thrice(url: str) -> None:
    """Ask in turn by the process's own connections."""
    for _ in range(3):
        assert ask(CONNECTIONS, url).status == 200


def test_a_kept_connection_may_be_one_of_tls(
    connections: Connections, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = make_certificate(tmp_path)
    with Wire(FINE) as wire, Listener(certificate, int(wire.url.rpartition(":")[2])) as listener:
        url = f"https://127.0.0.1:{listener.port}/"
        with pytest.raises(NeverConnected):
            ask(connections, url)
        assert wire.connections == 0
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        process = get_context("spawn").Process(target=ask_thrice, args=(url,))
        process.start()
        process.join(60)
        assert process.exitcode == 0
        assert (wire.connections, len(wire.seen)) == (1, 3)


def test_a_server_that_answers_before_it_has_read_all_is_heard(connections: Connections) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def refuse_unread() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(100)
                connection.sendall(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")

        thread = threading.Thread(target=refuse_unread)
        thread.start()
        assert ask(connections, f"http://127.0.0.1:{server.getsockname()[1]}/", body=bytes(10**8)).status == 413
        thread.join(10)


def test_an_answer_is_read_up_to_a_bound_also_when_it_is_packed(connections: Connections) -> None:
    packed = {"Content-Encoding": "gzip"}
    conducts = [reply(200, gzip.compress(b"short"), packed), reply(200, gzip.compress(bytes(10**6)), packed)]
    with Wire(*conducts, reply(200, b"no gzip", packed)) as wire:
        assert ask(connections, wire.url).body == b"short"
        assert ask(connections, wire.url).body == bytes(LONGEST)
        with pytest.raises(AnswerLost):
            ask(connections, wire.url)
        assert wire.seen[0].headers["accept-encoding"] == "gzip"


@pytest.mark.parametrize("url", ["gopher://x/", "http://", "http://x:y/", "//x", ""])
def test_an_address_of_no_server_is_refused(connections: Connections, url: str) -> None:
    with pytest.raises(BadAddress):
        ask(connections, url)


def test_a_header_that_cannot_be_written_is_not_sent_and_not_quoted(connections: Connections) -> None:
    with Wire(FINE) as wire:
        for value in ("secret\r\nX: y", "secret\u20ac"):
            with pytest.raises(BadAddress) as refused:
                ask(connections, wire.url, Authorization=value)
            assert "secret" not in str(refused.value)
        assert wire.seen == []


def test_what_no_address_may_hold_is_written_as_addresses_do(connections: Connections) -> None:
    with Wire(FINE) as wire:
        ask(connections, f"{wire.url}/a b/\u00e9/c%2Fd?q=x y&z=%20")
        assert wire.seen[0].target == "/a%20b/%C3%A9/c%2Fd?q=x%20y&z=%20"


@pytest.mark.parametrize("host", ["127.0.0.1:1", "no.such.host.invalid", "a" * 64 + ".invalid"])
def test_a_server_that_is_not_there_was_never_asked(connections: Connections, host: str) -> None:
    with pytest.raises(NeverConnected):
        ask(connections, f"http://{host}/")


PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture
def proxied(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    return monkeypatch


@pytest.mark.parametrize("name", ["http_proxy", "all_proxy"])
def test_a_proxy_of_the_environment_is_asked_in_the_servers_place(
    connections: Connections, proxied: pytest.MonkeyPatch, name: str
) -> None:
    with Wire(FINE) as proxy:
        host = proxy.url.removeprefix("http://")
        proxied.setenv(name, f"http://us:secret@{host}")
        for _ in range(2):
            assert ask(connections, "http://vendor.invalid/a?b=c").status == 200
        assert [seen.target for seen in proxy.seen] == ["http://vendor.invalid/a?b=c"] * 2
        assert proxy.seen[0].headers["host"] == "vendor.invalid"
        assert proxy.seen[1].headers["proxy-authorization"] == f"Basic {b64encode(b'us:secret').decode()}"
        assert proxy.connections == 1


def test_what_is_secret_from_a_proxy_goes_through_a_tunnel(
    connections: Connections, proxied: pytest.MonkeyPatch
) -> None:
    with Wire(reply(407)) as proxy:
        proxied.setenv("https_proxy", proxy.url)
        with pytest.raises(NeverConnected):
            ask(connections, "https://vendor.invalid/", Authorization="secret")
        (seen,) = proxy.seen
    assert (seen.method, seen.target) == ("CONNECT", "vendor.invalid:443")
    assert "authorization" not in seen.headers


def test_an_address_that_needs_no_proxy_is_asked_itself(connections: Connections, proxied: pytest.MonkeyPatch) -> None:
    with Wire(FINE) as wire, Wire(FINE) as proxy:
        proxied.setenv("http_proxy", proxy.url)
        proxied.setenv("no_proxy", "127.0.0.1")
        assert ask(connections, wire.url).status == 200
        assert proxy.seen == []


def test_a_proxy_that_cannot_be_used_is_not_passed_by(connections: Connections, proxied: pytest.MonkeyPatch) -> None:
    with Wire(FINE) as wire:
        proxied.setenv("http_proxy", "socks5://127.0.0.1:1")
        with pytest.raises(NeverConnected):
            ask(connections, wire.url)
        assert wire.seen == []
