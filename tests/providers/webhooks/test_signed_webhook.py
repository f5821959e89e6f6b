"""The signed webhook: a receiver can tell that the body is ours and when it was signed."""

import hashlib
import hmac
import json
from datetime import UTC, datetime
from uuid import UUID

import pytest

from domain.jobs.failures import Failure, Permanent, Transient
from providers.ports import Notice
from providers.webhooks.signed import SignedWebhook
from tests.doubles.factories import unmetered
from tests.providers.wire import Wire, drop, reply

SECRET = "the receiver knows it too"
NOON = datetime(2026, 11, 24, 12, tzinfo=UTC)
NOTICE = Notice(UUID(int=7), "provider", "A title", "A text", {"subject": "anthropic"})


def webhook(url: str) -> SignedWebhook:
    return SignedWebhook(url, SECRET, timeout_s=5, meter=unmetered, clock=lambda: NOON)


def test_a_receiver_can_verify_time_and_body() -> None:
    with Wire(reply(204)) as wire, webhook(wire.url) as channel:
        channel.send(NOTICE)
    (seen,) = wire.seen
    headers = {name.lower(): value for name, value in seen.headers.items()}
    at, _, signed = headers["postroom-signature"].removeprefix("t=").partition(",v1=")
    expected = hmac.new(SECRET.encode(), at.encode() + b"." + seen.body, hashlib.sha256).hexdigest()
    assert hmac.compare_digest(signed, expected)
    assert int(at) == int(NOON.timestamp())
    assert headers["postroom-alert-id"] == str(NOTICE.notice_id) == json.loads(seen.body)["id"]
    assert json.loads(seen.body)["subject"] == "anthropic"


def test_a_repeated_notice_is_the_same_bytes() -> None:
    with Wire(reply(200, {}), reply(200, {})) as wire, webhook(wire.url) as channel:
        channel.send(NOTICE)
        channel.send(NOTICE)
    assert len({seen.body for seen in wire.seen}) == 1


@pytest.mark.parametrize(
    ("url", "code"), [("http://127.0.0.1:1/", "alerts.unreachable"), ("gopher://x/", "alerts.bad_address")]
)
def test_an_address_without_a_receiver_is_named_by_its_kind_only(url: str, code: str) -> None:
    with webhook(url) as channel, pytest.raises(Failure) as raised:
        channel.send(NOTICE)
    assert (raised.value.code, url in str(raised.value)) == (code, False)
    assert isinstance(raised.value, Transient | Permanent)


def test_a_lost_answer_can_be_tried_again() -> None:
    with Wire(drop) as wire, webhook(wire.url) as channel, pytest.raises(Transient):
        channel.send(NOTICE)
