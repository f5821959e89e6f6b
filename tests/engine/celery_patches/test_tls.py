"""`rediss://` and `amqps://` are spoken over TLS by whoever connects, and certificates are checked (promise P9)."""

from collections.abc import Callable
from pathlib import Path
from ssl import CERT_NONE, CERT_REQUIRED
from uuid import uuid4

import pytest
import redis
from kombu.exceptions import OperationalError
from pydantic import SecretStr

from commands.doctor import ask_workers, broker_check
from domain.jobs.job import Hint
from engine.broker.metering import Meters
from engine.broker.publisher import Publisher
from engine.broker.transport_names import TRANSPORTS, transport_of
from engine.celery_patches import tls
from engine.celery_patches.fleet_connection import FleetConnection
from engine.relay.broker import Broker, BrokerAway
from engine.runtime import Runtime
from sandbox.servers.free_port import LOOPBACK
from sandbox.servers.valkey_server import ValkeyServer
from settings import Settings
from tests.engine.celery_patches.tls_listener import CLIENT_HELLO, Listener, make_certificate
from tests.house.reading import ROOT
from tests.servers.python_processes import run_python

PASSWORD = "hunter2-secret"
SECURE = ("rediss", "amqps")
UNCHECKED = "?ssl_cert_reqs=none"
HINT = [Hint(uuid4(), "probe.run", "default")]


def url_of(listener: Listener, scheme: str = "rediss", tail: str = "") -> str:
    return f"{scheme}://:{PASSWORD}@{LOOPBACK}:{listener.port}/0{tail}"


def settings_of(url: str) -> Settings:
    return Settings(broker_url=SecretStr(url))


def publish(url: str) -> None:
    publisher = Publisher(url, answer_within_s=1)
    assert not publisher.publish(HINT)
    publisher.close()


def ask_the_broker(url: str) -> None:
    broker = Broker(Runtime(settings_of(url)))
    with pytest.raises(BrokerAway):
        broker.depths(["default"])
    broker.close()


def connect_a_worker(url: str) -> None:
    with FleetConnection(url, connect_timeout=1) as connection, pytest.raises(OperationalError):
        connection.ensure_connection(max_retries=1, interval_start=0, timeout=1)


def examine(url: str) -> None:
    assert not broker_check(settings_of(url)).ok
    assert ask_workers(settings_of(url), lambda app: app.control.ping(timeout=0.1))[1]


@pytest.mark.parametrize("tail", ["", UNCHECKED])
@pytest.mark.parametrize("scheme", SECURE)
@pytest.mark.parametrize("speak", [publish, ask_the_broker, connect_a_worker, examine])
def test_nothing_is_said_in_plaintext(speak: Callable[[str], None], scheme: str, tail: str) -> None:
    with Listener() as listener:
        speak(url_of(listener, scheme, tail))
        assert listener.heard
        assert all(said.startswith(CLIENT_HELLO) for said in listener.heard)
        assert PASSWORD.encode() not in listener.all_heard


def test_without_tls_the_listener_hears_the_password() -> None:
    """Or the test above would prove nothing."""
    with Listener() as listener:
        publish(url_of(listener, "redis"))
        assert PASSWORD.encode() in listener.all_heard


def test_calls_are_counted_over_tls() -> None:
    with Listener() as listener:
        assert Meters(url_of(listener)).diagnosis()
        assert listener.all_heard.startswith(CLIENT_HELLO)
        assert PASSWORD.encode() not in listener.all_heard


def test_a_broker_whose_certificate_is_known_takes_what_the_fleet_says(
    own_valkey: ValkeyServer, tmp_path: Path
) -> None:
    certificate = make_certificate(tmp_path)
    with Listener(certificate, own_valkey.port) as front:
        for tail in (f"?ssl_ca_certs={certificate}", UNCHECKED):
            url = f"rediss://{LOOPBACK}:{front.port}/0{tail}"
            publisher = Publisher(url)
            assert publisher.publish(HINT)
            publisher.close()
            broker = Broker(Runtime(settings_of(url)))
            assert broker.depths(["default"]) == {"default": 1}
            assert broker.read_or_set_epoch("a", None)
            broker.close()
            assert Meters(url).diagnosis() is None
            assert broker_check(settings_of(url)).ok
            assert ask_workers(settings_of(url), lambda app: app.control.ping(timeout=0.1)) == ([], "")
            with FleetConnection(url) as connection:
                connection.default_channel.queue_purge("default")
        assert front.heard


def test_a_broker_with_a_certificate_of_its_own_is_refused_and_doctor_says_why(
    own_valkey: ValkeyServer, tmp_path: Path
) -> None:
    with Listener(make_certificate(tmp_path), own_valkey.port) as front:
        for speak in (publish, ask_the_broker, connect_a_worker):
            speak(url_of(front))
        found = broker_check(settings_of(url_of(front)))
        assert (found.ok, "certificate is not taken: self-signed certificate" in found.finding) == (False, True)
        assert "ssl_ca_certs" in found.remedy
        assert not front.heard
    with redis.Redis.from_url(own_valkey.url()) as operator:
        assert operator.dbsize() == 0


@pytest.mark.parametrize("speak", [publish, connect_a_worker])
def test_rabbitmqs_certificate_must_bear_the_name_that_was_asked_for(
    speak: Callable[[str], None], tmp_path: Path
) -> None:
    for name, is_heard in ((LOOPBACK, True), ("other.example", False)):
        certificate = make_certificate(tmp_path, name)
        with Listener(certificate) as front:
            speak(url_of(front, "amqps", f"?ssl_ca_certs={certificate}"))
            assert front.all_heard.startswith(b"AMQP") == is_heard
        with Listener(certificate) as front:
            speak(url_of(front, "amqps", f"?ssl_ca_certs={certificate}&ssl_check_hostname=false"))
            assert front.all_heard.startswith(b"AMQP")


@pytest.mark.parametrize("given", [None, False, True, {}, {"ssl_check_hostname": False}])
def test_what_says_nothing_of_certificates_has_them_checked(given: object) -> None:
    assert tls.redis_options(given)["ssl_cert_reqs"] == CERT_REQUIRED
    assert tls.amqp_options(given, "broker")["cert_reqs"] == CERT_REQUIRED


def test_what_a_url_says_comes_first_and_a_copy_of_a_connection_says_the_same() -> None:
    said = {"ssl_cert_reqs": CERT_NONE, "ssl_keyfile": "key"}
    assert tls.redis_options(said) == said
    made = tls.amqp_options(said, "broker")
    assert made == {"cert_reqs": CERT_NONE, "keyfile": "key"}
    assert tls.amqp_options(made, "broker") == made
    checked = tls.amqp_options(None, "broker")
    assert checked == {"cert_reqs": CERT_REQUIRED, "server_hostname": "broker"}
    assert tls.amqp_options(checked, "broker") == checked


def test_every_secure_scheme_has_secure_transports_however_it_is_written() -> None:
    for name in SECURE:
        for transport in (*TRANSPORTS[name], transport_of(f"{name.upper()}://broker")):
            assert str(transport).endswith(":SecureTransport")


@pytest.mark.parametrize("says_too", ["", "CELERY_BROKER_URL", "-b"])
def test_celery_itself_speaks_tls(says_too: str) -> None:
    """By the app's connections, which workers, beat and Flower go by, whoever says again where the broker is."""
    with Listener() as listener:
        url = url_of(listener)
        words = ("celery", "-A", "tasks", *(("-b", url) if says_too == "-b" else ()))
        environment = {"POSTROOM_BROKER_URL": url}
        if says_too.startswith("CELERY"):
            environment[says_too] = url
        status, said = run_python(*words, "inspect", "ping", "--timeout", "1", folder=ROOT, environment=environment)
        assert status != 0
        assert listener.all_heard.startswith(CLIENT_HELLO)
        assert PASSWORD.encode() not in listener.all_heard
        assert PASSWORD not in said
