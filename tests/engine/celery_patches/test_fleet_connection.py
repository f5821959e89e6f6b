"""A connection of the app's is shown under its broker's scheme: in the banner, the log and on Flower's Broker page."""

import re
from collections.abc import Callable
from traceback import format_exception

import pytest
from celery.exceptions import ImproperlyConfigured
from flower.utils.broker import Broker, RabbitMQ, Redis, RedisSsl

from engine.app import app
from engine.broker.transport_names import TRANSPORTS
from settings import load
from tests.house.reading import ROOT
from tests.servers.python_processes import run_python

PASSWORD = "hunter2-secret"


@pytest.mark.parametrize(
    ("scheme", "shown", "client"),
    [
        ("redis", "redis", Redis),
        ("rediss", "rediss", RedisSsl),
        ("amqp", "amqp", RabbitMQ),
        ("pyamqp", "amqp", RabbitMQ),
        ("amqps", "amqps", RabbitMQ),
    ],
)
def test_flower_knows_the_broker_of_each_scheme(scheme: str, shown: str, client: type) -> None:
    connection = app.amqp.Connection(f"{scheme}://someone:{PASSWORD}@broker.example:4711/0")
    named = connection.as_uri()
    assert named.startswith(f"{shown}://someone:**@broker.example:4711/")
    assert PASSWORD not in named
    asked = connection.as_uri(include_password=True)
    assert isinstance(Broker(asked, http_api=None, broker_options={}, broker_use_ssl=False), client)


def test_every_transport_of_the_app_is_shown() -> None:
    shown = {
        scheme: app.amqp.Connection(f"{scheme}://broker.example").as_uri().partition("://")[0] for scheme in TRANSPORTS
    }
    assert shown == {scheme: scheme.removeprefix("py") for scheme in TRANSPORTS}


def test_a_copy_of_a_connection_is_shown_alike() -> None:
    connection = app.connection().clone()
    assert connection.as_uri().startswith("redis://")


@pytest.mark.parametrize("scheme", sorted(TRANSPORTS))
def test_a_connection_goes_by_the_scheme_of_its_url_and_so_do_its_copies(scheme: str) -> None:
    """Celery hands over the transport of the settings, whichever URL it was told to connect to."""
    connection = app.amqp.Connection(f"{scheme.upper()}://broker.example", transport="memory")
    copy = connection.clone()
    assert connection.transport_cls == copy.transport_cls == TRANSPORTS[scheme].apps
    assert (copy.hostname, bool(copy.ssl)) == ("broker.example", scheme in {"rediss", "amqps"})


@pytest.mark.parametrize(
    ("url", "said"),
    [
        # kombu would go from the first to the second by its own transport, and check no certificate.
        (f"rediss://:{PASSWORD}@one.example;rediss://two.example", "semicolon"),
        (f"redis://:{PASSWORD}/x@one.example/0", "its host or port cannot be read"),
        (f"redis://:{PASSWORD}@one.example/0?foo=1", "an option that is not known"),
        (f"foo://:{PASSWORD}@one.example", "must begin with one of"),
    ],
)
def test_no_connection_is_made_by_a_url_that_the_settings_would_refuse(url: str, said: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=said) as caught:
        app.amqp.Connection(url)
    assert PASSWORD not in "".join(format_exception(caught.value))


ENVIRONMENT = ("CELERY_BROKER_URL", "CELERY_BROKER_READ_URL", "CELERY_BROKER_WRITE_URL")


@pytest.mark.parametrize("variable", ENVIRONMENT)
@pytest.mark.parametrize("connect", [app.connection, app.connection_for_read, app.connection_for_write])
def test_a_process_that_celery_would_lead_to_another_broker_ends(
    connect: Callable[[], object], variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would take messages from one and publish to the other: alive, and idle (promise P11)."""
    monkeypatch.setenv(variable, f"redis://:{PASSWORD}@other.example/0")
    with pytest.raises(SystemExit, match=f"POSTROOM_BROKER_URL.*{variable}") as caught:
        connect()
    assert PASSWORD not in str(caught.value)


@pytest.mark.parametrize("connect", [app.connection, app.connection_for_read, app.connection_for_write])
def test_a_process_that_would_connect_to_another_broker_by_its_url_ends(connect: Callable[[str], object]) -> None:
    """As Flower and Celery's own commands may ask, whatever the settings say."""
    with pytest.raises(SystemExit, match="POSTROOM_BROKER_URL") as caught:
        connect(f"redis://:{PASSWORD}@other.example/0")
    assert PASSWORD not in str(caught.value)


def test_the_same_broker_may_be_named_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CELERY_BROKER_URL", load().broker_url.get_secret_value())
    assert app.connection().as_uri().startswith("redis://")


@pytest.mark.parametrize("variable", ["BROKER_URL", "CELERY_BROKER", *ENVIRONMENT])
def test_the_line_names_each_variable_from_which_celery_takes_a_broker(variable: str) -> None:
    environment = {variable: f"redis://:{PASSWORD}@127.0.0.1:1/0"}
    status, said = run_python("celery", "-A", "tasks", "inspect", "ping", folder=ROOT, environment=environment)
    assert status == 1
    assert re.search(rf"(?<!_){variable}\b", said.splitlines()[-1])


@pytest.mark.parametrize("tail", ["", "?foo=1"])
@pytest.mark.parametrize("words", ["worker", "beat", "-q beat", "inspect ping", "flower"])
def test_a_command_that_is_given_another_broker_ends_with_one_line(words: str, tail: str) -> None:
    url = f"redis://:{PASSWORD}@127.0.0.1:1/0{tail}"
    status, said = run_python("celery", "-A", "tasks", "-b", url, *words.split(), folder=ROOT)
    assert status == 1
    assert said.count("Error: ") == 1
    assert "POSTROOM_BROKER_URL" in said.splitlines()[-1]
    assert ("Traceback" in said, PASSWORD in said) == (False, False)
