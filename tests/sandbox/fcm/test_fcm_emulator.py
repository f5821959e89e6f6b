"""The FCM emulator imitates what a client must survive: each call sends, devices go, tokens end."""

import json
import urllib.error
import urllib.request
from typing import Any

import pytest

from sandbox.fcm.fcm import FcmControl, fcm_emulator
from sandbox.fcm.service import PROJECT


def send(url: str, message: Any, token: str = "none") -> tuple[int, Any]:  # noqa: ANN401, S107 - any JSON, no secret
    path = f"{url}/v1/projects/{PROJECT}/messages:send"
    headers = {"Authorization": f"Bearer {token}"}
    request = urllib.request.Request(path, json.dumps(message).encode(), headers)  # noqa: S310  # the test's own
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310  # as above
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def test_a_call_without_a_token_is_refused_in_googles_words() -> None:
    with fcm_emulator() as emulator:
        status, body = send(emulator.url, {"message": {"token": "d"}})
        assert (status, body["error"]["status"]) == (401, "UNAUTHENTICATED")


@pytest.mark.parametrize("assertion", ["", "x.y.z"])
def test_an_assertion_that_nobody_signed_gets_no_token(assertion: str) -> None:
    with fcm_emulator() as emulator:
        body = f"grant_type=x&assertion={assertion}".encode()
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(f"{emulator.url}/token", body, timeout=10)  # noqa: S310  # the test's own
        with refused.value as error:
            assert json.load(error)["error"] == "invalid_grant"


def test_a_reset_forgets_messages_and_devices() -> None:
    with fcm_emulator() as emulator:
        control = FcmControl(emulator.url)
        control.set_device("d", "gone")
        control.reset()
        assert control.messages() == []
