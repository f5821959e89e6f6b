"""The Resend emulator refuses what Resend refuses, and its callbacks come doubled and out of order on order."""

from collections.abc import Iterator
from datetime import UTC, datetime
from email import message_from_bytes, policy

import httpx2
import pytest
from pydantic import SecretStr

from providers.webhooks.svix import is_signed
from sandbox.emulator.client import ControlRefused
from sandbox.resend.control import ResendControl
from sandbox.resend.resend import resend_emulator
from tests.providers.wire import Wire, reply

GOOD = {"from": "Desk <desk@example.com>", "to": ["ada@example.org"], "subject": "Hello", "text": "there"}
HEADERS = {"Authorization": "Bearer re_key"}


@pytest.fixture
def control() -> Iterator[ResendControl]:
    with resend_emulator() as emulator:
        yield ResendControl(emulator.url)


def send(control: ResendControl, body: object = None, **headers: str) -> httpx2.Response:
    return httpx2.post(f"{control.url}/emails", json=GOOD if body is None else body, headers=HEADERS | headers)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"to": []}, "missing_required_field"),
        ({"subject": ""}, "missing_required_field"),
        ({"text": None}, "validation_error"),
        ({"to": ["ada@example.org"] * 51}, "validation_error"),
        ({"to": ["ada"]}, "validation_error"),
        ({"to": ["ada@example.org, eve@example.net"]}, "validation_error"),
        ({"cc": "ada@example.org\nBcc: eve@example.net"}, "validation_error"),
        ({"subject": "a\nb"}, "validation_error"),
        ({"headers": {"X-A": "a\nb"}}, "validation_error"),
        ({"tone": "kind"}, "validation_error"),
        ({"attachments": [{"filename": "a", "content": "?"}]}, "invalid_attachment"),
    ],
)
def test_what_is_no_mail_is_refused(control: ResendControl, change: dict[str, object], name: str) -> None:
    answer = send(control, GOOD | change)
    assert (answer.status_code, answer.json()["name"]) == (422, name)
    assert control.emails() == []


def test_who_does_not_say_who_calls_is_refused(control: ResendControl) -> None:
    assert httpx2.post(f"{control.url}/emails", json=GOOD).json()["name"] == "missing_api_key"
    nameless = send(control, **{"User-Agent": ""})
    assert (nameless.status_code, nameless.text) == (403, "error code: 1010")


def test_a_mail_can_be_looked_up_and_read(control: ResendControl) -> None:
    made = send(control).json()["id"]
    found = httpx2.get(f"{control.url}/emails/{made}", headers=HEADERS).json()
    assert (found["id"], found["subject"]) == (made, "Hello")
    assert httpx2.get(f"{control.url}/emails/other", headers=HEADERS).status_code == 404
    read = message_from_bytes(control.raw(made), policy=policy.default)
    assert (read["to"], read["subject"], read.get_content().strip()) == ("ada@example.org", "Hello", "there")


def test_a_key_that_is_none_is_refused(control: ResendControl) -> None:
    assert send(control, **{"Idempotency-Key": "x" * 257}).json()["name"] == "invalid_idempotency_key"


def test_quotas_begin_anew_and_a_rate_passes(control: ResendControl) -> None:
    for quota, passes_s in (("per_second", 1), ("per_day", 86_400), ("per_month", 32 * 86_400)):
        control.reset()
        control.set_quotas(**{quota: 1})
        assert [send(control).status_code for _ in range(2)] == [200, 429]
        control.advance_clock(passes_s)
        assert send(control).status_code == 200
    with pytest.raises(ControlRefused):
        control.set_quotas(per_hour=1)


@pytest.mark.parametrize("order", ["as_is", "reversed", "shuffled"])
def test_callbacks_come_doubled_and_in_the_order_that_was_ordered(control: ResendControl, order: str) -> None:
    made = send(control).json()["id"]
    with Wire(reply(204)) as wire:
        secret = control.configure_callbacks(f"{wire.url}/webhooks/resend")
        kinds = ("email.sent", "email.delivered", "email.bounced")
        statuses = control.send_callbacks(made, *kinds, copies=2, order=order, seed=3)
    assert statuses == [204] * 6
    came = [(seen.json["type"], seen.headers["svix-id"]) for seen in wire.seen]
    twice = [kind for kind in kinds for _ in range(2)]
    assert sorted(kind for kind, _ in came) == sorted(twice)
    assert len(set(came)) == 3  # a copy has the id of the first
    if order != "shuffled":
        assert [kind for kind, _ in came] == (twice if order == "as_is" else twice[::-1])
    for seen in wire.seen:
        assert seen.json["data"]["email_id"] == made
        assert is_signed(SecretStr(secret), seen.headers, seen.body, datetime.now(UTC))


def test_forged_old_and_unknown_callbacks_come_on_order(control: ResendControl) -> None:
    with Wire(reply(400)) as wire:
        secret = SecretStr(control.configure_callbacks(wire.url))
        for options in ({"forged": True}, {"age_s": 3_600}, {}):
            assert control.send_callbacks("an id that was never given", "email.sent", **options) == [400]
    signed = [is_signed(secret, seen.headers, seen.body, datetime.now(UTC)) for seen in wire.seen]
    assert signed == [False, False, True]
    assert [call.status for call in control.journal("callbacks.post")] == [400] * 3


def test_a_receiver_that_is_away_is_no_status(control: ResendControl) -> None:
    with pytest.raises(ControlRefused):
        control.send_callbacks("7", "email.sent")
    control.configure_callbacks("http://127.0.0.1:1/")
    assert control.send_callbacks("7", "email.sent") == [None]
