"""A connection of the app's is shown under its broker's scheme: in the banner, the log and on Flower's Broker page."""

import pytest
from celery.exceptions import ImproperlyConfigured
from flower.utils.broker import Broker, RabbitMQ, Redis, RedisSsl

from engine.app import app
from engine.process.transport_names import TRANSPORTS

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


def test_no_connection_is_made_to_one_of_several_brokers() -> None:
    """kombu would go from the first to the second by its own transport, and check no certificate."""
    with pytest.raises(ImproperlyConfigured, match="must name one broker") as caught:
        app.amqp.Connection(f"rediss://:{PASSWORD}@one.example;rediss://two.example")
    assert PASSWORD not in str(caught.value)
