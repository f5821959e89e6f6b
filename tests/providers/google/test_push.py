"""Only Google's own push gets in, and only what can be understood comes out."""

import base64
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.failures import Forbidden, Invalid
from providers.google.certificates import CertificateStore
from providers.google.push import PushClaims, parse_push, verify_push
from tests.providers.google.signing import AUDIENCE, SENDER, Signer
from tests.providers.wire import Wire, reply

SIGNER = Signer("key-1")
STRANGER = Signer("key-1")
LATER = Signer("key-2")


def checked(wire: Wire, header: str | None, audience: str = AUDIENCE, service_account: str = SENDER) -> PushClaims:
    return verify_push(
        header,
        audience=audience,
        service_account=service_account,
        certs_url=f"{wire.url}/certs",
        certificates=CertificateStore(timeout_s=5),
    )


def refused(header: str | None, **settings: str) -> str:
    with Wire(reply(200, SIGNER.certificates)) as wire, pytest.raises(Forbidden) as caught:
        checked(wire, header, **settings)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return caught.value.code


def test_googles_own_push_is_let_in() -> None:
    with Wire(reply(200, SIGNER.certificates)) as wire:
        claims = checked(wire, SIGNER.header())
    assert (claims.email, claims.audience) == (SENDER, AUDIENCE)
    assert claims.expires_at - claims.issued_at == timedelta(hours=1)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"iss": "https://evil.example.org"}, "push.issuer"),
        ({"iss": None}, "push.issuer"),
        ({"email": "other@project.example.com"}, "push.email"),
        ({"email": None}, "push.email"),
        ({"email_verified": False}, "push.email"),
        ({"email_verified": "true"}, "push.email"),
        ({"email_verified": None}, "push.email"),
        ({"aud": "https://other.example.com"}, "push.token"),
        ({"aud": None}, "push.token"),
        ({"exp": 1_700_000_000, "iat": 1_699_990_000}, "push.token"),
        ({"exp": None}, "push.token"),
        ({"iat": 4_000_000_000, "exp": 4_000_003_600}, "push.token"),
        ({"exp": "late"}, "push.token"),
    ],
)
def test_a_wrong_claim_is_refused(changes: dict[str, Any], code: str) -> None:
    assert refused(SIGNER.header(**changes)) == code


def test_a_strangers_signature_under_googles_key_id_is_refused() -> None:
    assert refused(STRANGER.header()) == "push.token"


def test_an_unknown_key_is_refused() -> None:
    assert refused(LATER.header()) == "push.token"


def _segment(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "Bearer",
        "Bearer a.b",
        "Basic YTpi",
        "Bearer a.b.c.d",
        "Bearer " + "x" * 10_000,
        "Bearer é.é.é",
        f"Bearer {_segment({'alg': 'none', 'kid': 'key-1'})}.{_segment({})}.x",
        f"Bearer {_segment({'alg': 'RS256'})}.{_segment({})}.xxxx",
        f"Bearer {_segment({'alg': 'RS256', 'kid': ['key-1']})}.{_segment({})}.xxxx",
        f"Bearer {_segment({'alg': ['RS256'], 'kid': 'key-1'})}.{_segment({})}.xxxx",
        f"Bearer {_segment([])}.{_segment({})}.xxxx",
        "Bearer " + base64.urlsafe_b64encode(b"[" * 4000).decode().rstrip("=") + ".e30.xxxx",
        f"Bearer {_segment({'alg': 'RS256', 'kid': 'key-1'})}."
        + base64.urlsafe_b64encode(b"[" * 4000).decode().rstrip("=")
        + ".xxxx",
    ],
)
def test_what_is_no_token_is_refused(header: str | None) -> None:
    assert refused(header) == "push.token"


@pytest.mark.parametrize("settings", [{"audience": ""}, {"service_account": ""}])
def test_a_forgotten_setting_refuses_every_push(settings: dict[str, str]) -> None:
    assert refused(SIGNER.header(), **settings) == "push.unset"


def envelope(notice: object, **changes: object) -> bytes:
    encoded = base64.b64encode(json.dumps(notice).encode()).decode()
    message = {"data": encoded, "messageId": "136969346945", "publishTime": "2026-11-01T12:00:00.123456789Z", **changes}
    return json.dumps({"message": message, "subscription": "projects/p/subscriptions/s"}).encode()


DATA = {"emailAddress": "ada>?~@example.com", "historyId": 9876543210}


def test_a_notification() -> None:
    push = parse_push(envelope(DATA))
    assert (push.email, push.history_id, push.message_id) == ("ada>?~@example.com", 9876543210, "136969346945")
    assert push.publish_time == datetime(2026, 11, 1, 12, 0, 0, 123456, tzinfo=UTC)


@pytest.mark.parametrize("alphabet", [base64.b64encode, base64.urlsafe_b64encode])
@pytest.mark.parametrize("padded", [True, False])
@pytest.mark.parametrize("history_id", [5, "5"])
def test_both_alphabets_with_or_without_padding(*, alphabet: Any, padded: bool, history_id: object) -> None:  # noqa: ANN401  # a function of base64
    text = alphabet(json.dumps({**DATA, "historyId": history_id}).encode()).decode()
    push = parse_push(envelope(None, data=text if padded else text.rstrip("=")))
    assert (push.email, push.history_id) == (DATA["emailAddress"], 5)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (b"", "body"),
        (b"\xff", "body"),
        (b"[]", "body"),
        (b"[" * 100_000, "body"),
        (b"{" + b" " * 300_000 + b"}", "body"),
        (b"{}", "message"),
        (b'{"message": []}', "message"),
        (envelope(DATA, data=None), "message.data"),
        (envelope(DATA, data=""), "message.data"),
        (envelope(DATA, data="%%%"), "message.data"),
        (envelope(DATA, data="A"), "message.data"),
        (envelope(DATA, data=7), "message.data"),
        (envelope("text"), "message.data"),
        (envelope({"historyId": 5}), "emailAddress"),
        (envelope({**DATA, "emailAddress": 5}), "emailAddress"),
        (envelope({**DATA, "emailAddress": "a\x00@example.com"}), "emailAddress"),
        (envelope({**DATA, "emailAddress": "a" * 400}), "emailAddress"),
        (envelope({"emailAddress": "ada@example.com"}), "historyId"),
        (envelope({**DATA, "historyId": "0x5"}), "historyId"),
        (envelope({**DATA, "historyId": "\u0665"}), "historyId"),
        (envelope({**DATA, "historyId": True}), "historyId"),
        (envelope({**DATA, "historyId": -1}), "historyId"),
        (envelope({**DATA, "historyId": 2**64}), "historyId"),
        (envelope({**DATA, "historyId": 1.5}), "historyId"),
        (envelope(DATA, messageId=None), "message.messageId"),
        (envelope(DATA, publishTime="yesterday"), "message.publishTime"),
        (envelope(DATA, publishTime=5), "message.publishTime"),
    ],
)
def test_a_poison_push_names_its_field(body: bytes, field: str) -> None:
    with pytest.raises(Invalid) as caught:
        parse_push(body)
    assert caught.value.field == field


def test_a_push_without_its_time_is_still_a_push() -> None:
    assert parse_push(envelope(DATA, publishTime=None)).publish_time is None


@given(st.binary(max_size=200) | st.recursive(st.none() | st.text(), st.lists).map(envelope))
def test_whatever_comes_is_a_notification_or_invalid(body: bytes) -> None:
    try:
        parse_push(body)
    except Invalid as invalid:
        assert invalid.field  # noqa: PT017  # either outcome is right; only another exception is not
