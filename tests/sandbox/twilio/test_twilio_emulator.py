"""The Twilio emulator imitates what a client must survive: no key, late lists, refused numbers, signed callbacks."""

import base64
import json
import urllib.error
import urllib.parse
import urllib.request
from typing import Any

import pytest

from sandbox.twilio.control import TwilioControl
from sandbox.twilio.service import ACCOUNT, TOKEN
from sandbox.twilio.twilio import twilio_emulator


def call(url: str, form: dict[str, str] | None = None, *, token: str = TOKEN, query: str = "") -> tuple[int, Any]:
    basic = base64.b64encode(f"{ACCOUNT}:{token}".encode()).decode()
    body = None if form is None else urllib.parse.urlencode(form).encode()
    path = f"{url}/2010-04-01/Accounts/{ACCOUNT}/Messages.json{query}"
    request = urllib.request.Request(path, body, {"Authorization": f"Basic {basic}"})  # noqa: S310  # the test's own
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310  # as above
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


FORM = {"To": "+4930123456", "From": "+15005550006", "Body": "words"}


def test_the_same_post_twice_is_two_messages() -> None:
    with twilio_emulator() as emulator:
        first, second = call(emulator.url, FORM), call(emulator.url, FORM)
        assert (first[0], second[0]) == (201, 201)
        assert first[1]["sid"] != second[1]["sid"]
        listed = call(emulator.url, query="?To=%2B4930123456")[1]["messages"]
        assert [one["sid"] for one in listed] == [second[1]["sid"], first[1]["sid"]]


def test_a_list_may_be_late() -> None:
    with twilio_emulator() as emulator:
        control = TwilioControl(emulator.url)
        call(emulator.url, FORM)
        control.hide_lists(1)
        assert [len(call(emulator.url)[1]["messages"]) for _ in range(2)] == [0, 1]


@pytest.mark.parametrize(
    ("changes", "code"),
    [({"To": "030"}, 21211), ({"From": ""}, 21603), ({"Body": ""}, 21602), ({"Body": "x" * 1601}, 21617)],
)
def test_what_twilio_refuses_is_refused(changes: dict[str, str], code: int) -> None:
    with twilio_emulator() as emulator:
        status, body = call(emulator.url, FORM | changes)
        assert (status, body["code"]) == (400, code)


def test_numbers_and_the_token_can_be_set() -> None:
    with twilio_emulator() as emulator:
        control = TwilioControl(emulator.url)
        control.refuse(FORM["To"], "stopped")
        assert call(emulator.url, FORM)[1]["code"] == 21610
        control.refuse(FORM["To"], "")
        assert call(emulator.url, FORM)[0] == 201
        assert call(emulator.url, FORM, token="another")[0] == 401
        control.revoke()
        assert call(emulator.url, FORM)[1]["code"] == 20003
        control.reset()
        assert (control.messages(), call(emulator.url, FORM)[0]) == ([], 201)
