"""A process has one broker: what Celery is given beside the settings must name the same."""

import pytest

from domain.jobs.urls.one_broker import trouble_with_broker

PASSWORD = "hunter2-secret"
OWN = "redis://broker:6379/0"


@pytest.mark.parametrize(
    ("given", "own"),
    [
        (OWN, OWN),
        ("redis://broker", OWN),
        (f"REDIS://:{PASSWORD}@Broker:6379/", OWN),
        ("redis://broker:6379/00", OWN),
        ("rediss://broker?ssl_cert_reqs=none", "rediss://broker:6379/0"),
        ("pyamqp://broker//", "amqp://user:word@broker:5672"),
        ("amqp://broker/%2F", "amqp://broker"),
        ("amqps://broker/mail", "amqps://broker:5671/mail"),
    ],
)
def test_one_broker_may_be_named_in_two_ways(given: str, own: str) -> None:
    assert trouble_with_broker(given, own) is None


@pytest.mark.parametrize(
    ("given", "own"),
    [
        (f"redis://:{PASSWORD}@other", OWN),
        (f"redis://:{PASSWORD}@broker:6380/0", OWN),
        (f"redis://:{PASSWORD}@broker/1", OWN),
        (f"rediss://:{PASSWORD}@broker", OWN),
        (f"amqp://u:{PASSWORD}@broker:6379", OWN),
        (f"amqp://u:{PASSWORD}@broker/mail", "amqp://broker//"),
        (f"amqp://u:{PASSWORD}@broker", "amqps://broker"),
    ],
)
def test_another_broker_is_named_without_its_password(given: str, own: str) -> None:
    trouble = trouble_with_broker(given, own)
    assert trouble is not None
    assert "another broker than POSTROOM_BROKER_URL" in trouble
    assert PASSWORD not in trouble


@pytest.mark.parametrize(
    "given",
    [
        f"redis://:{PASSWORD}/x@broker/0",
        f"redis://:{PASSWORD}@broker/0?foo=1",
        f"foo://:{PASSWORD}@broker",
        f"redis://:{PASSWORD}@broker;redis://other",
        "broker",
    ],
)
def test_what_cannot_be_used_is_told_so_without_its_password(given: str) -> None:
    trouble = trouble_with_broker(given, OWN)
    assert trouble is not None
    assert "cannot be used" in trouble
    assert PASSWORD not in trouble
