"""A connection of the app's is shown under its broker's scheme: in the banner, the log and on Flower's Broker page."""

import pytest
from flower.utils.broker import Broker, RabbitMQ, Redis, RedisSsl

import celeryconfig
from engine.app import app

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
    connection = app.amqp.Connection(
        f"{scheme}://someone:{PASSWORD}@broker.example:4711/0", transport=celeryconfig.TRANSPORTS[scheme]
    )
    named = connection.as_uri()
    assert named.startswith(f"{shown}://someone:**@broker.example:4711/")
    assert PASSWORD not in named
    asked = connection.as_uri(include_password=True)
    assert isinstance(Broker(asked, http_api=None, broker_options={}, broker_use_ssl=False), client)


def test_every_transport_of_the_app_is_shown() -> None:
    shown = {
        scheme: app.amqp.Connection(f"{scheme}://broker.example", transport=transport).as_uri().partition("://")[0]
        for scheme, transport in celeryconfig.TRANSPORTS.items()
    }
    assert shown == {scheme: scheme.removeprefix("py") for scheme in celeryconfig.TRANSPORTS}


def test_a_copy_of_a_connection_is_shown_alike() -> None:
    connection = app.connection().clone()
    assert connection.as_uri().startswith("redis://")
