"""A callback counts only when it was signed with our secret, lately, and as these very bytes."""

import base64
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest
from pydantic import SecretStr

from providers.webhooks.svix import TOLERANCE, is_signed, signature_of
from sandbox.resend.callbacks import SECRET, signed

NOW = datetime(2026, 11, 26, 12, tzinfo=UTC)
EVENT = {"type": "email.delivered", "data": {"email_id": "7"}}
CALLBACK = signed(EVENT, SECRET, "msg_1", NOW.timestamp())
OTHER = "whsec_" + base64.b64encode(b"another secret").decode()


def verified(
    headers: Mapping[str, str] = {},
    *,
    secret: str = SECRET,
    body: bytes = CALLBACK.body,
    now: datetime = NOW,
) -> bool:
    return is_signed(SecretStr(secret), CALLBACK.headers | dict(headers), body, now)


def test_the_example_of_svixs_own_page_is_verified() -> None:
    """https://docs.svix.com/receiving/verifying-payloads/how."""
    secret = SecretStr("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    signature = signature_of(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", b'{"test": 2432232314}')
    assert signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_what_resend_signs_is_verified() -> None:
    assert verified()
    assert verified(secret=SECRET.removeprefix("whsec_"))


def test_one_of_several_signatures_is_enough_while_a_secret_is_replaced() -> None:
    mine = CALLBACK.headers["svix-signature"]
    other = signed(EVENT, OTHER, "msg_1", NOW.timestamp()).headers["svix-signature"]
    assert verified({"svix-signature": f"{other} {mine}"})
    assert verified({"svix-signature": f"{other} {mine}"}, secret=OTHER)
    assert not verified({"svix-signature": " ".join([other] * 1_000 + [mine])})


@pytest.mark.parametrize(
    "headers",
    [
        {"svix-id": "msg_2"},
        {"svix-id": ""},
        {"svix-id": "x" * 201},
        {"svix-timestamp": str(int(NOW.timestamp()) + 1)},
        {"svix-timestamp": ""},
        {"svix-timestamp": "noon"},
        {"svix-timestamp": "-1"},
        {"svix-timestamp": "٣"},
        {"svix-timestamp": "9" * 400},
        {"svix-signature": ""},
        {"svix-signature": "v1,"},
        {"svix-signature": "v1,ä"},
        {"svix-signature": CALLBACK.headers["svix-signature"].removeprefix("v1,")},
        {"svix-signature": CALLBACK.headers["svix-signature"].replace("v1,", "v2,")},
    ],
)
def test_whatever_was_changed_it_is_forged(headers: dict[str, str]) -> None:
    assert not verified(headers)


def test_another_body_or_secret_is_forged() -> None:
    assert not verified(body=json.dumps(EVENT, indent=1).encode())
    assert not verified(secret=OTHER)
    assert not is_signed(SecretStr(SECRET), {}, CALLBACK.body, NOW)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_replay_is_refused_by_its_time(sign: int) -> None:
    assert verified(now=NOW + sign * TOLERANCE)
    assert not verified(now=NOW + sign * (TOLERANCE + timedelta(seconds=1)))


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec_not base64!", "whsec_ä"])
def test_a_secret_that_is_none_is_a_mistake_and_verifies_nothing(secret: str) -> None:
    with pytest.raises(ValueError, match="signing secret"):
        verified(secret=secret)
