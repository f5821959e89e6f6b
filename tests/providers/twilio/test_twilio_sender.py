"""Twilio's client against its emulator: what is sent, what is found, what an answer means."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from pydantic import SecretStr

from domain.jobs.failures import CallState, CredentialsLost, Transient
from providers.ports.sms import OutgoingSms
from providers.twilio.sender import TwilioSender
from providers.webhooks import twilio
from sandbox.emulator.fault_order import FaultOrder
from sandbox.twilio.callbacks import signed
from sandbox.twilio.control import TwilioControl
from sandbox.twilio.service import ACCOUNT, TOKEN
from sandbox.twilio.twilio import twilio_emulator
from tests.doubles.factories import unmetered

SECRET = SecretStr(json.dumps({"account_sid": ACCOUNT, "auth_token": TOKEN}))
MESSAGE = OutgoingSms("+4930123456", "Your stage has changed", "https://mail.example.org/webhooks/twilio/1")


@pytest.fixture
def control() -> Iterator[TwilioControl]:
    with twilio_emulator() as emulator:
        yield TwilioControl(emulator.url)


@pytest.fixture
def sender(control: TwilioControl) -> Iterator[TwilioSender]:
    with TwilioSender(SECRET, from_name="+15005550006", api_url=control.url, timeout_s=5, meter=unmetered) as made:
        yield made


def test_a_message_is_sent_with_its_callback(control: TwilioControl, sender: TwilioSender) -> None:
    sid = sender.send(MESSAGE)
    (taken,) = control.messages()
    assert (taken["sid"], taken["to"], taken["body"]) == (sid, MESSAGE.to, MESSAGE.body)
    assert (taken["from"], taken["callback_url"]) == ("+15005550006", MESSAGE.callback_url)


def test_a_messaging_service_is_named_as_one(control: TwilioControl) -> None:
    with TwilioSender(SECRET, from_name="MG1", api_url=control.url, timeout_s=5, meter=unmetered) as sender:
        sender.send(MESSAGE)
    assert control.messages()[0]["messaging_service_sid"] == "MG1"


def test_messages_are_found_by_number_time_and_body(sender: TwilioSender) -> None:
    before = datetime.now(UTC)
    sids = [sender.send(MESSAGE) for _ in range(2)]
    sender.send(OutgoingSms(MESSAGE.to, "other words"))
    sender.send(OutgoingSms("+4930123457", MESSAGE.body))
    assert sender.sent_since(MESSAGE, before) == sids
    assert sender.sent_since(MESSAGE, before + timedelta(hours=1)) == []


def test_a_long_list_is_read_page_by_page_until_the_attempt(control: TwilioControl, sender: TwilioSender) -> None:
    before = datetime.now(UTC)
    first = sender.send(MESSAGE)
    for number in range(100):
        sender.send(OutgoingSms(MESSAGE.to, f"words {number}"))
    assert sender.sent_since(MESSAGE, before) == [first]
    assert len(control.journal("messages.list")) == 2


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        ({"status": 500, "reason": "internal"}, "twilio.20500"),
        ({"drop": "after"}, "twilio.connection_lost"),
        ({"status": 201, "text": "{}"}, "twilio.unreadable"),
        ({"ending": "cut"}, "twilio.connection_lost"),
    ],
)
def test_an_answer_that_proves_nothing_leaves_doubt(
    control: TwilioControl, sender: TwilioSender, fault: dict[str, object], code: str
) -> None:
    control.order(FaultOrder(operation="messages.create", **fault))  # type: ignore[arg-type] # fields of an order
    with pytest.raises(Transient) as raised:
        sender.send(MESSAGE)
    assert (raised.value.code, raised.value.call_state) == (code, CallState.IN_DOUBT)
    assert MESSAGE.to not in raised.value.reason


def test_a_secret_that_is_none_is_lost_credentials_and_quoted_nowhere() -> None:
    for text in ("", "x", "[]", '{"account_sid": "AC1"}', '{"account_sid": "AC1", "auth_token": "a b"}'):
        with pytest.raises(CredentialsLost) as lost:
            TwilioSender(SecretStr(text), from_name="+1", api_url="http://x", timeout_s=1, meter=unmetered)
        assert "a b" not in lost.value.reason


def test_a_signature_is_twilios_own() -> None:
    """The emulator signs by a second writing of the rule."""
    url, form = "https://mail.example.org/webhooks/twilio/1", {"B": "2", "A": "1", "MessageStatus": "sent"}
    signature = signed(TOKEN, url, form)
    assert twilio.is_signed(TOKEN, url, form.items(), signature)
    for odd in (("another", url, form), (TOKEN, url + "/", form), (TOKEN, url, form | {"A": "2"})):
        assert not twilio.is_signed(odd[0], odd[1], odd[2].items(), signature)
    assert not twilio.is_signed(TOKEN, url, form.items(), "é")


@pytest.mark.parametrize("origin", ["https://mail.example.org:8443", "http://127.0.0.1:8000", "https://[::1]:8443"])
def test_of_an_address_with_a_port_the_one_without_it_may_be_signed(origin: str) -> None:
    path, form = "/webhooks/twilio/1", {"MessageStatus": "sent"}
    without = origin.rpartition(":")[0]
    for address, is_good in ((origin, True), (without, True), (f"{without}:1", False), ("https://x.test", False)):
        signature = signed(TOKEN, address + path, form)
        assert twilio.is_signed(TOKEN, origin + path, form.items(), signature) is is_good
        assert twilio.is_signed(TOKEN, without + path, form.items(), signature) is (address == without)
