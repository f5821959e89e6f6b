"""One caller never stops the others: a real gateway under each attack, and real clients beside it."""

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import psutil
import psycopg
import pytest
from pydantic import SecretStr

from domain.jobs.job import Origin
from domain.orgs.access.api_keys import Role
from gateway.http.bounded_protocol import MOST_CONNECTIONS
from providers.webhooks.svix import signature_of
from sandbox.servers.free_port import find_free_port
from settings import Settings
from storage.orgs.secrets import org_secrets
from storage.orgs.secrets.sealing import Sealer, SecretPlace
from storage.postgres.database import Database
from tests.attacks.hostile_texts import SCHEMAS, TEMPLATES
from tests.doubles.mail_factories import make_account
from tests.gateway.api.conftest import Client, client_of
from tests.gateway.serving import ask
from tests.waiting import eventually

ROOT = Path(__file__).resolve().parents[2]
PROBED_WITHIN_S = 6.0
"""By the clock: when the readiness probe of deploy/kubernetes/fleet/gateway.yaml gives up."""
HEALTH_CPU_S = 1.0
OTHERS_CPU_S = 2.0
BESIDE_TEXTS_CPU_S = 0.5
"""Of the gateway's own, until it answers: for how long others kept the answer back, whatever the machine runs."""
PRIVATE_KEYS = "-----BEGIN " + "PRIVATE KEY" * 5_000
LONG_KEYS = "-----BEGIN " + "PRIVATE KEY" * 45_000
TINY_CHUNKS = b"1\r\nx\r\n" * 10_000
BODY_TO_COME = b"POST /webhooks/discord/interactions HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n"
HARD_PATTERNS = [f"(a|b)*a(a|b){{{n}}}c" for n in range(100, 150)]


@dataclass
class Attacked:
    """A gateway as a process of its own; org A attacks, and org B goes about its work."""

    url: str
    process: psutil.Process
    attacker: Client
    victim: Client
    slowest: dict[str, float] = field(default_factory=dict)
    dearest: dict[str, float] = field(default_factory=dict)
    rounds: int = 0

    def look(self) -> None:
        """Ask for health, and for something of org B's; keep how long each answer took, and what was calculated."""
        for name in ("/healthz", "/readyz", "org B"):
            began, spent = time.monotonic(), self.cpu_seconds()
            answer = self.victim.get("/v1/jobs") if name == "org B" else ask(f"{self.url}{name}")
            assert answer.status == 200, name
            self.slowest[name] = max(self.slowest.get(name, 0.0), time.monotonic() - began)
            self.dearest[name] = max(self.dearest.get(name, 0.0), self.cpu_seconds() - spent)
        self.rounds += 1

    def cpu_seconds(self) -> float:
        times = self.process.cpu_times()
        return float(times.user + times.system)

    def during(self, attack: Callable[[], object]) -> None:
        """Look again and again until an attack is over, and three times at the least."""
        thread = threading.Thread(target=attack, daemon=True)
        thread.start()
        while thread.is_alive() or self.rounds < 3:
            self.look()

    def answers_others(self) -> bool:
        """While threads of the gateway calculate, with which an examination takes turns at each statement."""
        dear = {name: spent for name, spent in self.dearest.items() if spent > BESIDE_TEXTS_CPU_S and name != "/readyz"}
        assert dear == {}
        return self.is_well()

    def is_well(self) -> bool:
        limits = {"/healthz": HEALTH_CPU_S, "/readyz": HEALTH_CPU_S, "org B": OTHERS_CPU_S}
        assert {name: spent for name, spent in self.dearest.items() if spent > limits[name]} == {}
        assert {name: took for name, took in self.slowest.items() if took > PROBED_WITHIN_S} == {}
        return True


@pytest.fixture(scope="module")
def gateway(shared_settings: Settings) -> Iterator[tuple[str, psutil.Process]]:
    """A gateway as a process of its own, with its URL; many systems allow one 1,024 files at first, or fewer."""
    port = find_free_port()
    environment = os.environ | {
        "POSTROOM_DATABASE_URL": shared_settings.database_url.get_secret_value(),
        "POSTROOM_API_REQUESTS_PER_MINUTE": "1000000",
    }
    command = ["sh", "-c", f"ulimit -Sn 512 && exec {sys.executable} -m gateway --port {port}"]
    url = f"http://127.0.0.1:{port}"
    with subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.DEVNULL) as started:  # noqa: S603  # our own command
        try:
            eventually(lambda: is_up(url), within=30, describe="the gateway never answered")
            yield url, psutil.Process(started.pid)
        finally:
            started.kill()


@pytest.fixture
def attacked(gateway: tuple[str, psutil.Process], shared_store: Database) -> Attacked:
    url, process = gateway
    names = uuid4().hex, uuid4().hex
    one, two = (make_account(shared_store, email=f"{name}@example.com", org=name) for name in names)
    found = Attacked(
        url,
        process,
        client_of(shared_store, url, one.org_id, Role.OPERATOR),
        client_of(shared_store, url, two.org_id, Role.OPERATOR),
    )
    found.look()  # what is made at the first request is made
    found.slowest.clear()
    found.dearest.clear()
    return found


def is_up(url: str) -> bool:
    with suppress(OSError):
        return ask(f"{url}/readyz").status == 200
    return False


@contextmanager
def connections(url: str, count: int) -> Iterator[list[socket.socket]]:
    address = urlsplit(url)
    with ExitStack() as opened:
        yield [
            opened.enter_context(socket.create_connection((address.hostname or "", address.port or 0), timeout=30))
            for _ in range(count)
        ]


def take_little(opened: list[socket.socket]) -> None:
    """Let the system take few bytes for a client that does not read."""
    for connection in opened:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)


def send(url: str, request: bytes, *, clients: int, times: int) -> list[bytes]:
    """Send the same request by several clients at once, each several times; the first line of each last answer."""

    def client(connection: socket.socket) -> bytes:
        line = b""
        with suppress(OSError):
            for _ in range(times):
                connection.sendall(request)
                line = connection.recv(65_536).partition(b"\r\n")[0]
        return line

    with connections(url, clients) as opened, ThreadPoolExecutor(clients) as pool:
        return list(pool.map(client, opened))


def request_of(client: Client, verb: str, path: str, document: object) -> bytes:
    body = json.dumps(document).encode()
    head = (
        f"{verb} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {client.key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def test_heads_that_look_like_secrets(attacked: Attacked) -> None:
    path = PRIVATE_KEYS.replace(" ", "%20")
    for place in (
        f"GET /{path} HTTP/1.1\r\nHost: x\r\n\r\n",
        f"GET /v1/accounts?email={path} HTTP/1.1\r\nHost: x\r\n\r\n",
    ):
        attacked.during(lambda request=place: send(attacked.url, request.encode(), clients=8, times=5))  # type: ignore[misc]  # the loop's own
    assert attacked.is_well()


@pytest.mark.parametrize("name", ["note", LONG_KEYS], ids=["value", "name"])
def test_bodies_that_look_like_secrets(attacked: Attacked, name: str) -> None:
    document: dict[str, object] = {"job_type": "gmail.sync", "payload": {}, name: LONG_KEYS if name == "note" else 1}
    request = request_of(attacked.attacker, "POST", "/v1/jobs", document)
    assert len(request) > 490_000
    attacked.during(lambda: send(attacked.url, request, clients=8, times=5))
    assert attacked.is_well()


def test_rules_of_hard_patterns(attacked: Attacked) -> None:
    rule = {
        "name": "x",
        "when": {"any": [{"body": {"matches": one}} for one in HARD_PATTERNS]},
        "then": {"class": "fyi"},
    }
    request = request_of(attacked.attacker, "POST", "/v1/rules", [rule] * 10)
    assert len(request) > 18_000
    attacked.during(lambda: send(attacked.url, request, clients=10, times=2))
    assert attacked.is_well()


def test_clients_that_never_read(attacked: Attacked) -> None:
    """They hold their connections; to make 150 answers at once takes a moment, which is not what is measured."""
    request = b"GET /v1/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" * 4
    with connections(attacked.url, 150) as opened:
        take_little(opened)
        for connection in opened:
            connection.sendall(request)
        attacked.look()
        attacked.slowest.clear()
        attacked.dearest.clear()
        for _ in range(5):
            attacked.look()
    assert attacked.is_well()


def test_requests_for_rows_that_the_org_has_locked(
    attacked: Attacked, shared_settings: Settings, shared_store: Database
) -> None:
    with shared_store.tenant(attacked.attacker.org_id) as tx:
        account_id = tx.raw("select id from accounts")[0].id
    request = request_of(attacked.attacker, "PATCH", f"/v1/accounts/{account_id}/settings", {"send_allowed": True})
    answers: list[bytes] = []
    with psycopg.connect(shared_settings.database_url.get_secret_value()) as holder:
        holder.execute("select from accounts where id = %s for update", (account_id,))
        attacked.during(lambda: answers.extend(send(attacked.url, request, clients=60, times=1)))
    assert attacked.is_well()
    assert (len(answers), {line.split(b" ")[1] for line in answers}) == (60, {b"503"})
    (after,) = send(attacked.url, request, clients=1, times=1)
    assert after.split(b" ")[1] == b"200"


def test_callbacks_for_a_row_that_the_org_has_locked(
    attacked: Attacked, shared_settings: Settings, shared_store: Database
) -> None:
    """Signed with the org's own secret: they find the org's places taken, as its requests with a key do."""
    org_id, secret = attacked.attacker.org_id, SecretStr("whsec_" + "c2VjcmV0" * 4)
    with shared_store.ledger() as tx:
        org_secrets.keep(tx, Sealer.of(shared_settings), SecretPlace(org_id, "resend_webhook"), secret, by=Origin())
    body = json.dumps({"type": "email.delivered", "data": {"email_id": "email-1"}}).encode()
    at = str(int(time.time()))
    head = (
        f"POST /webhooks/resend/{org_id} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n"
        f"svix-id: m\r\nsvix-timestamp: {at}\r\nsvix-signature: {signature_of(secret, 'm', at, body)}\r\n\r\n"
    )
    request = head.encode() + body
    answers: list[bytes] = []
    with psycopg.connect(shared_settings.database_url.get_secret_value()) as holder:
        holder.execute("insert into email_receipts (org_id, provider_id) values (%s, 'email-1')", (org_id,))
        attacked.during(lambda: answers.extend(send(attacked.url, request, clients=60, times=1)))
        holder.rollback()
    assert attacked.is_well()
    assert (len(answers), {line.split(b" ")[1] for line in answers}) == (60, {b"503"})
    (after,) = send(attacked.url, request, clients=1, times=1)
    assert after.split(b" ")[1] == b"200"


@pytest.mark.quiet
def test_templates_that_were_made_to_cost(attacked: Attacked) -> None:
    """python-liquid's own lexer took 7 s for the first of them, in which no other thread ran."""
    for source in TEMPLATES:
        template = {"category": "bookings", "subject": "x", "text": source, "sample": {"a": "x", "list": ["x"] * 900}}
        request = request_of(attacked.attacker, "PUT", "/v1/notification-templates/x", template)
        attacked.during(lambda request=request: send(attacked.url, request, clients=4, times=1))  # type: ignore[misc]  # the loop's own
    assert attacked.answers_others()


@pytest.mark.quiet
def test_schemas_that_were_made_to_cost(attacked: Attacked) -> None:
    for schema in SCHEMAS:
        document = {"name": "x", "input": {"type": "object", **schema}, "nodes": {}}
        request = request_of(attacked.attacker, "POST", "/v1/workflows/validate", document)
        attacked.during(lambda request=request: send(attacked.url, request, clients=4, times=1))  # type: ignore[misc]  # the loop's own
    assert attacked.answers_others()


def flood(url: str, head: bytes, piece: bytes, *, clients: int, pieces: int) -> None:
    """Send a body without an end by several clients at once; each comes anew when its connection is closed."""

    def client(_number: int) -> None:
        sent = 0
        while sent < pieces:
            with suppress(OSError), connections(url, 1) as (connection,):
                connection.sendall(head)
                while sent < pieces:
                    sent += 1
                    connection.sendall(piece)

    with ThreadPoolExecutor(clients) as pool:
        list(pool.map(client, range(clients)))


def test_bodies_of_tiny_chunks(attacked: Attacked) -> None:
    keys = f"Authorization: Bearer {attacked.attacker.key}\r\n"
    for path, caller in (("/v1/jobs", ""), ("/v1/jobs", keys), ("/webhooks/discord/interactions", "")):
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\n{caller}Content-Type: application/json\r\n"
        chunked = f"{head}Transfer-Encoding: chunked\r\n\r\n".encode()
        attacked.during(lambda head=chunked: flood(attacked.url, head, TINY_CHUNKS, clients=8, pieces=20))  # type: ignore[misc]  # the loop's own
    assert attacked.is_well()


def test_more_connections_than_are_kept_that_never_end_a_request(attacked: Attacked) -> None:
    for begun in (b"GET /healthz HTTP/1.1\r\nX:", BODY_TO_COME):
        with connections(attacked.url, MOST_CONNECTIONS + 100) as opened:
            for connection in opened:
                with suppress(OSError):
                    connection.sendall(begun)
            for _ in range(3):
                attacked.look()


def test_bodies_of_many_fields(attacked: Attacked) -> None:
    request = request_of(attacked.attacker, "POST", "/v1/rules", {f"a{n}": 1 for n in range(80_000)})
    answers: list[bytes] = []
    attacked.during(lambda: answers.extend(send(attacked.url, request, clients=16, times=1)))
    assert attacked.is_well()
    assert {line.split(b" ")[1] for line in answers} == {b"422"}
