"""A code becomes tokens in one request, or one of our failures; nobody else's identity is taken."""

import base64
import json
import time
import urllib.parse
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest

from domain.jobs.failures import CallState, Failure, Permanent, Throttled, Transient, Unauthorised
from providers.google.consent import ConsentGiven, OAuthClient, challenge_of, exchange
from tests.providers.wire import BODY, Conduct, Wire, cut_short, drop, hang, reply, trickle

CLIENT = OAuthClient("client", "shh", "https://mail.example.org/oauth/google/callback")
NOW = datetime.now(UTC)
SOON = int((NOW + timedelta(hours=1)).timestamp())
CLAIMS = {"iss": "https://accounts.google.com", "aud": "client", "nonce": "request-1", "sub": "107", "exp": SOON}


def id_token(claims: Mapping[str, object]) -> str:
    body = base64.urlsafe_b64encode(json.dumps(claims).encode()).rstrip(b"=").decode()
    return f"head.{body}.signature"


def granted(**changes: object) -> dict[str, object]:
    given: dict[str, object] = {
        "access_token": "ya29.new",
        "refresh_token": "1//new",
        "expires_in": 3599,
        "scope": "openid a",
        "id_token": id_token(CLAIMS),
    }
    return given | changes


def exchanged(wire: Wire, timeout_s: float = 5) -> ConsentGiven:
    return exchange(
        "4/0Acode", CLIENT, verifier="v" * 64, nonce="request-1", token_uri=f"{wire.url}/token", timeout_s=timeout_s
    )


def failed(conduct: Conduct, timeout_s: float = 5) -> tuple[Failure, int]:
    with Wire(conduct) as wire:
        with pytest.raises(Failure) as caught:
            exchanged(wire, timeout_s)
        return caught.value, len(wire.seen)


def test_a_code_is_exchanged_with_its_verifier() -> None:
    with Wire(reply(200, granted())) as wire:
        given = exchanged(wire)
        (seen,) = wire.seen
    assert (given.access_token, given.refresh_token, given.subject) == ("ya29.new", "1//new", "107")
    assert given.scopes == {"openid", "a"}
    assert timedelta(minutes=59) < given.expires_at - datetime.now(UTC) < timedelta(minutes=61)
    assert urllib.parse.parse_qs(seen.body.decode()) == {
        "grant_type": ["authorization_code"],
        "code": ["4/0Acode"],
        "client_id": ["client"],
        "client_secret": ["shh"],
        "redirect_uri": [CLIENT.redirect_uri],
        "code_verifier": ["v" * 64],
    }
    assert "ya29" not in repr(given)
    assert "1//" not in repr(given)
    assert "shh" not in repr(CLIENT)


def test_no_lasting_access_is_no_error_of_the_exchange() -> None:
    answer = granted()
    del answer["refresh_token"]
    with Wire(reply(200, answer)) as wire:
        assert exchanged(wire).refresh_token is None


def test_the_challenge_of_rfc_7636() -> None:
    assert challenge_of("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk") == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"


@pytest.mark.parametrize(
    "claims",
    [
        {"aud": "another client"},
        {"iss": "https://accounts.example.com"},
        {"nonce": "request-2"},
        {"exp": int(NOW.timestamp()) - 1},
    ],
)
def test_an_identity_that_is_not_for_this_request_is_refused(claims: dict[str, object]) -> None:
    failure, _ = failed(reply(200, granted(id_token=id_token(CLAIMS | claims))))
    assert (type(failure), failure.code) == (Permanent, "google.foreign_identity")


@pytest.mark.parametrize(
    ("status", "body", "kind", "code"),
    [
        (400, {"error": "invalid_grant"}, Unauthorised, "google.invalid_grant"),
        (401, {"error": "invalid_client"}, Throttled, "google.invalid_client"),
        (400, {"error": "redirect_uri_mismatch"}, Permanent, "google.redirect_uri_mismatch"),
        (400, {"error": "bad words <4/0Acode>"}, Permanent, "google.http_400"),
        (429, {"error": "rate_limit_exceeded"}, Throttled, "google.rate_limit_exceeded"),
        (503, b"[" * 100_000, Transient, "google.http_503"),
        (200, b"<html>", Transient, "google.unreadable_answer"),
        (200, b"[]", Transient, "google.unreadable_answer"),
        (200, granted(scope=7), Transient, "google.unreadable_answer"),
        (200, granted(id_token="no token"), Transient, "google.unreadable_answer"),
        (200, granted(id_token=id_token(CLAIMS | {"exp": "soon"})), Transient, "google.unreadable_answer"),
        (200, granted(expires_in="soon"), Transient, "google.unreadable_answer"),
    ],
)
def test_each_refusal_is_one_request_and_one_failure(status: int, body: object, kind: type[Failure], code: str) -> None:
    failure, requests = failed(reply(status, body))
    assert (type(failure), failure.code, requests) == (kind, code, 1)
    assert "4/0Acode" not in f"{failure!r}{failure.__context__}{failure.__cause__}"


@pytest.mark.parametrize(
    ("conduct", "code"),
    [
        (drop, "google.connection_lost"),
        (cut_short, "google.connection_lost"),
        (hang, "google.timeout"),
        (trickle(0.05), "google.timeout"),
        (trickle(0.05, BODY), "google.timeout"),
    ],
)
def test_an_endpoint_that_does_not_answer_is_asked_once(conduct: Conduct, code: str) -> None:
    began = time.monotonic()
    failure, requests = failed(conduct, timeout_s=0.3)
    assert (type(failure), failure.code, failure.call_state) == (Transient, code, CallState.IN_DOUBT)
    assert (requests, time.monotonic() - began < 5) == (1, True)
