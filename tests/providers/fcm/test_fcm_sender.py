"""FCM's client against its emulator: tokens, messages, what an answer means."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from pydantic import SecretStr

from domain.jobs.failures import CallState, CredentialsLost, Failure, Throttled, Transient
from providers.fcm.sender import FcmSender, document_of
from providers.fcm.tokens import TokenStore
from providers.ports.push import OutgoingPush
from sandbox.emulator.fault_order import FaultOrder
from sandbox.fcm.fcm import FcmControl, fcm_emulator
from sandbox.fcm.service import PROJECT, service_account
from tests.doubles.factories import unmetered

MESSAGE = OutgoingPush("device-1", "Stage 2", "It has changed", "https://example.org/2", "tag-1", timedelta(hours=1))


@pytest.fixture
def control() -> Iterator[FcmControl]:
    with fcm_emulator() as emulator:
        yield FcmControl(emulator.url)


def sender_of(control: FcmControl, store: TokenStore, secret: str = "") -> FcmSender:
    return FcmSender(
        SecretStr(secret or service_account()),
        project=PROJECT,
        api_url=control.url,
        token_url=f"{control.url}/token",
        tokens=store,
        timeout_s=5,
        meter=unmetered,
    )


def test_messages_share_a_token_until_it_is_about_to_end(control: FcmControl) -> None:
    store = TokenStore()
    for _ in range(2):
        with sender_of(control, store) as sender:
            assert sender.send(MESSAGE).startswith(f"projects/{PROJECT}/messages/")
    assert len(control.journal("oauth.token")) == 1
    (taken, _) = control.messages()
    assert (taken["token"], taken["notification"]) == ("device-1", {"title": "Stage 2", "body": "It has changed"})


def test_a_kept_token_that_is_refused_is_renewed_once(control: FcmControl) -> None:
    store = TokenStore()
    with sender_of(control, store) as sender:
        sender.send(MESSAGE)
        control.advance_clock(7200)
        with pytest.raises(Transient) as raised:
            sender.send(MESSAGE)
        assert (raised.value.code, raised.value.call_state) == ("fcm.token_refused", CallState.NOT_DONE)
        sender.send(MESSAGE)
        control.order(FaultOrder(operation="messages.send", status=401, times=2))
        with pytest.raises(Transient):
            sender.send(MESSAGE)
        with pytest.raises(CredentialsLost):
            sender.send(MESSAGE)
    assert (len(control.messages()), len(control.journal("oauth.token"))) == (2, 3)


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        ({"drop": "after"}, "fcm.connection_lost"),
        ({"status": 200, "text": "[]"}, "fcm.unreadable"),
        ({"status": 503, "reason": "UNAVAILABLE"}, "fcm.unavailable"),
    ],
)
def test_an_answer_that_proves_nothing_leaves_doubt(control: FcmControl, fault: dict[str, object], code: str) -> None:
    control.order(FaultOrder(operation="messages.send", **fault))  # type: ignore[arg-type] # fields of an order
    with sender_of(control, TokenStore()) as sender, pytest.raises(Transient) as raised:
        sender.send(MESSAGE)
    assert (raised.value.code, raised.value.call_state) == (code, CallState.IN_DOUBT)
    assert "device-1" not in raised.value.reason


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ({"drop": "after"}, Transient),
        ({"status": 503}, Transient),
        ({"status": 408}, Transient),
        ({"status": 429, "headers": {"Retry-After": "5"}}, Throttled),
        ({"status": 200, "text": "{}"}, Transient),
        ({"status": 400, "reason": "invalid_grant"}, CredentialsLost),
    ],
)
def test_without_a_token_nothing_was_sent(control: FcmControl, fault: dict[str, object], kind: type[Failure]) -> None:
    control.order(FaultOrder(operation="oauth.token", **fault))  # type: ignore[arg-type] # fields of an order
    with sender_of(control, TokenStore()) as sender, pytest.raises(kind) as raised:
        sender.send(MESSAGE)
    assert raised.value.call_state is CallState.NOT_DONE
    assert control.messages() == []


def test_a_secret_that_is_no_key_file_is_lost_credentials(control: FcmControl) -> None:
    for text in ("x", "[]", json.dumps({"client_email": "a"})):
        with pytest.raises(CredentialsLost):
            sender_of(control, TokenStore(), text)
    broken = json.dumps({"client_email": "a@example.com", "private_key": "no key"})
    with sender_of(control, TokenStore(), broken) as sender, pytest.raises(CredentialsLost):
        sender.send(MESSAGE)


def test_no_message_outlives_what_is_left_of_it() -> None:
    now = datetime(2026, 11, 24, tzinfo=UTC)
    for ttl, lasts in ((timedelta(hours=1), 3600), (timedelta(days=60), 28 * 86_400), (timedelta(seconds=-5), 0)):
        message = document_of(OutgoingPush("d", "t", "b", None, "tag", ttl), now)["message"]
        assert message["android"]["ttl"] == f"{lasts}s"
        assert message["webpush"]["headers"]["TTL"] == str(lasts)
        assert int(message["apns"]["headers"]["apns-expiration"]) == int(now.timestamp()) + lasts
        assert "data" not in message


def test_a_repetition_takes_the_first_ones_place_and_no_other_messages() -> None:
    """FCM keeps four collapse keys for a device that is away, and drops what has others."""
    documents = [
        document_of(OutgoingPush("d", title, "b", None, f"tag-{title}", timedelta(hours=1)), datetime.now(UTC))
        for title in ("1", "1", *"23456")
    ]
    messages = [one["message"] for one in documents]
    tags = [(one["android"]["notification"]["tag"], one["webpush"]["notification"]["tag"]) for one in messages]
    assert [one["apns"]["headers"]["apns-collapse-id"] for one in messages] == [tag for tag, _ in tags]
    assert tags[0] == tags[1]
    assert len(set(tags)) == 6
    assert {one["android"].get("collapse_key") for one in messages} == {None}
