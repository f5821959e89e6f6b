"""What is said of a connection that could not be made, by the real errors of ssl, redis-py, py-amqp and kombu."""

import re
import socket
import ssl
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
import redis
from amqp.exceptions import AccessRefused
from kombu.exceptions import OperationalError
from pydantic import SecretStr
from redis.exceptions import ResponseError
from structlog.testing import capture_logs

from commands.doctor import broker_check, limits_check, names_check
from domain.jobs.job import Hint
from engine.broker.metering import Meters
from engine.broker.publisher import Publisher
from engine.relay.broker import Broker, BrokerAway
from engine.runtime import Runtime
from observability.connection_diagnosis import MOST, diagnosis_of
from sandbox.servers.free_port import LOOPBACK, find_free_port
from sandbox.servers.valkey_server import ValkeyServer
from settings import Settings
from tests.engine.celery_patches.test_tls import HINT, PASSWORD, SECURE, settings_of, url_of
from tests.engine.celery_patches.tls_listener import Listener, make_certificate

UNTRUSTED = ("its certificate is not taken: self-signed certificate", r"trust its authority: .*\?ssl_ca_certs=FILE")
WRONG_NAME = ("its certificate is not taken: IP address mismatch", "the host in .*ssl_check_hostname=false")
NO_FILE = ("a file of its URL cannot be read: No such file or directory", "ssl_ca_certs, ssl_certfile and ssl_keyfile")
NO_CERTIFICATE = ("TLS failed: no certificate or crl found", "ssl_ca_certs, ssl_certfile and ssl_keyfile")
NO_PEM = ("TLS failed: .*pem lib", "ssl_ca_certs, ssl_certfile and ssl_keyfile")
ENDED_TLS = ("ended the connection over TLS", "see that the port in .* is the server's port for TLS")
EXPIRED = ("its certificate is not taken: certificate has expired", "renew the server's certificate")
TLS_PORT = ("ended the connection: ", "if that port is for TLS, write rediss:// or amqps://")
AWAY = ("did not answer: Connection refused", "start the server")
NO_HOST = ("its host is not found: ", "mend the host")

Said = tuple[str, str]


def said_of(url: str) -> Iterator[Said]:
    """What doctor says in both rows, and its remedies; what the relay and a publisher log says the same."""
    process = Runtime(settings_of(url))
    row = broker_check(process.settings)
    assert not row.ok
    yield row.finding, row.remedy
    if url.startswith("redis"):
        counting = limits_check(process)
        assert counting.finding.startswith("calls are not counted: ")
        yield counting.finding, counting.remedy
    with pytest.raises(BrokerAway) as away:
        Broker(process).depths(["default"])
    yield str(away.value), row.remedy
    publisher = Publisher(url, answer_within_s=1)
    with capture_logs() as logged:
        assert not publisher.publish(HINT)
    publisher.close()
    yield next(each["cause"] for each in logged if each["event"] == "hints_not_published"), row.remedy


def assert_said(url: str, said: Said) -> None:
    for finding, remedy in said_of(url):
        assert re.search(said[0], finding), finding
        assert re.search(said[1], remedy), remedy
        assert PASSWORD not in finding + remedy


@pytest.mark.parametrize("scheme", SECURE)
def test_what_is_wrong_with_tls_is_told(scheme: str, own_valkey: ValkeyServer, tmp_path: Path) -> None:
    junk = tmp_path / "junk.pem"
    junk.write_text("no certificate")
    ours, other = make_certificate(tmp_path), make_certificate(tmp_path, "other.example")
    (tmp_path / "late").mkdir()
    late = make_certificate(tmp_path / "late", ends_in=timedelta(days=-1))
    with (
        Listener(ours, own_valkey.port) as front,
        Listener(other, own_valkey.port) as misnamed,
        Listener(late, own_valkey.port) as expired,
        Listener() as plain,
    ):
        for server, tail, said in (
            (front, "", UNTRUSTED),
            (misnamed, f"?ssl_ca_certs={other}", WRONG_NAME),
            (front, "?ssl_ca_certs=/nonexistent.pem", NO_FILE),
            (front, "?ssl_certfile=/nonexistent.pem", NO_FILE),
            (front, f"?ssl_ca_certs={junk}", NO_CERTIFICATE),
            (front, f"?ssl_certfile={junk}", NO_PEM),
            (expired, f"?ssl_ca_certs={late}", EXPIRED),
            (plain, f"?ssl_ca_certs={ours}", ENDED_TLS),
        ):
            assert_said(url_of(server, scheme, tail), said)


@pytest.mark.parametrize("scheme", ["redis", "amqp"])
def test_plaintext_at_a_port_for_tls_is_told(scheme: str, tmp_path: Path) -> None:
    with Listener(make_certificate(tmp_path)) as front, Listener() as closes:
        assert_said(url_of(front, scheme), TLS_PORT)
        assert_said(url_of(closes, scheme), TLS_PORT)


@pytest.mark.parametrize("scheme", ["redis", "rediss", "amqp", "amqps"])
def test_a_server_or_a_host_that_is_not_there_is_told(scheme: str) -> None:
    assert_said(f"{scheme}://:{PASSWORD}@{LOOPBACK}:{find_free_port()}/0", AWAY)
    assert_said(f"{scheme}://:{PASSWORD}@nowhere.invalid:1/0", NO_HOST)


def test_what_redis_answers_is_told(own_valkey: ValkeyServer) -> None:
    assert_said(own_valkey.url(4000), ("refuses: DB index is out of range", "mend the login"))
    with redis.Redis.from_url(own_valkey.url()) as operator:
        operator.config_set("requirepass", "another")
        assert_said(f"redis://:{PASSWORD}@{LOOPBACK}:{own_valkey.port}/0", ("refuses: ", "mend the login"))


def test_what_rabbitmq_answers_is_told() -> None:
    error = OperationalError("as kombu raises it")
    error.__cause__ = AccessRefused("Login was refused", (10, 50), "Connection.close", 403)
    assert diagnosis_of(error).finding == "refuses: Connection.close: (403) Login was refused"


def handshake_error(answer: Callable[[socket.socket], object]) -> OSError:
    """What a client raises that speaks TLS to a peer with this answer."""
    ours, peer = socket.socketpair()
    with ours, peer:
        ours.settimeout(0.01)
        answer(peer)
        with pytest.raises(OSError, match=r"\w") as caught:
            ssl.create_default_context().wrap_socket(ours, server_hostname="broker")
    return caught.value


@pytest.mark.parametrize(
    ("answer", "finding", "advises_plaintext"),
    [
        (lambda _peer: None, "did not answer: its handshake for TLS timed out", False),
        (lambda peer: peer.shutdown(socket.SHUT_WR), "ended the connection over TLS", False),
        (lambda peer: peer.close(), "ended the connection: Broken pipe", False),
        (lambda peer: peer.sendall(b"-ERR unknown command"), "answers in plaintext, not in TLS", True),
    ],
)
def test_plaintext_is_advised_only_where_the_server_speaks_it(
    answer: Callable[[socket.socket], object], finding: str, advises_plaintext: bool
) -> None:
    diagnosis = diagnosis_of(handshake_error(answer))
    assert diagnosis.finding == finding
    assert bool(re.search(r"\b(redis|amqp)://", diagnosis.remedy)) == advises_plaintext


@pytest.mark.parametrize(
    ("error", "finding"),
    [
        (ValueError(PASSWORD), "its URL cannot be read"),
        (KeyError(PASSWORD), "its URL cannot be read"),
        (TypeError(PASSWORD), "its URL cannot be read"),
        (RuntimeError(PASSWORD), "did not answer: RuntimeError"),
    ],
)
def test_an_error_that_may_hold_a_part_of_the_url_is_not_shown(error: Exception, finding: str) -> None:
    diagnosis = diagnosis_of(error)
    assert diagnosis.finding == finding
    assert PASSWORD not in diagnosis.finding + diagnosis.remedy


def test_what_a_server_answers_is_shown_without_secrets_and_not_at_length() -> None:
    error = ResponseError(f"no redis://:{PASSWORD}@broker/0 here, {'and so on, ' * 50}")
    finding = diagnosis_of(error).finding
    assert finding.startswith("refuses: no redis://")
    assert PASSWORD not in finding
    assert len(finding) == MOST


def test_an_error_that_was_raised_from_none_is_not_told_by_what_came_before() -> None:
    error = RuntimeError()
    error.__context__ = socket.gaierror("no such host")
    assert diagnosis_of(error).finding == "its host is not found: no such host"
    error.__suppress_context__ = True
    assert diagnosis_of(error).finding == "did not answer: RuntimeError"


def test_an_error_that_is_its_own_cause_ends() -> None:
    first, second = RuntimeError(), RuntimeError()
    first.__context__, second.__context__ = second, first
    assert diagnosis_of(first).finding == "did not answer: RuntimeError"


def test_calls_that_are_not_counted_say_why(tmp_path: Path) -> None:
    with Listener(make_certificate(tmp_path)) as front, capture_logs() as logged:
        Meters(url_of(front)).meter("gmail", "someone")("messages.get", 1)
    assert [each["cause"] for each in logged] == [UNTRUSTED[0]]


def test_the_row_of_the_limits_names_the_one_setting_that_its_url_is_from(tmp_path: Path) -> None:
    with Listener(make_certificate(tmp_path)) as front:
        of_broker = settings_of(url_of(front))
        for settings, named in (
            (of_broker, "POSTROOM_BROKER_URL"),
            (of_broker.model_copy(update={"limits_url": of_broker.broker_url}), "POSTROOM_LIMITS_URL"),
        ):
            remedy = limits_check(Runtime(settings)).remedy
            assert re.findall(r"POSTROOM_\w+", remedy) == [named]
            assert remedy.startswith(f"trust its authority: {named}=")


UNUSABLE = pytest.mark.parametrize(
    "url",
    [
        f"rediss://:{PASSWORD}@broker/0?ssl_cert_reqs=bogus",
        f"redis://:{PASSWORD}@broker/0?unknown=1",
        f"rediss://:{PASSWORD}@{LOOPBACK}/0?ssl_unknown=1",
        f"amqps://:{PASSWORD}@{LOOPBACK}//?ssl_unknown=1",
        f"redis://broker:{PASSWORD}/0",
        f"unknown://:{PASSWORD}@broker",
    ],
)
"""Settings refuse these."""


@UNUSABLE
def test_doctor_and_the_relay_raise_for_no_url(url: str) -> None:
    process = Runtime(Settings().model_copy(update={"broker_url": SecretStr(url)}))
    rows = [broker_check(process.settings), limits_check(process), names_check(process.settings)]
    assert [row.ok for row in rows[::2]] == [False, False]
    with pytest.raises(BrokerAway) as away:
        Broker(process).depths(["default"])
    assert PASSWORD not in f"{rows}{away.value}"


@UNUSABLE
def test_a_publisher_raises_for_no_url(url: str) -> None:
    """A job is committed by the time a publisher uses one."""
    publisher = Publisher(url, answer_within_s=1)
    with capture_logs() as logged:
        assert not publisher.publish([*HINT, Hint(HINT[0].job_id, "probe.run", "default")])
    publisher.close()
    assert {each["event"] for each in logged} == {"hints_not_published"}
    assert PASSWORD not in str(logged)
