"""A refresh token becomes an access token in one request, or one of our failures."""

import urllib.parse
from datetime import UTC, datetime, timedelta

import pytest

from domain.jobs.failures import CallState, Failure, Permanent, Throttled, Transient, Unauthorised
from providers.google.gmail import GmailMailbox
from providers.google.oauth import FreshToken, refresh
from sandbox.emulator.control import GmailAccount, GmailControl
from tests.doubles.factories import unmetered
from tests.providers.wire import Conduct, Wire, drop, hang, reply

GRANTED = {"access_token": "ya29.new", "expires_in": 3599, "token_type": "Bearer", "scope": "a b"}


def refreshed(wire: Wire, timeout_s: float = 5) -> FreshToken:
    return refresh(
        "1//refresh",
        account="account-1",
        client_id="client",
        client_secret="shh",
        token_uri=f"{wire.url}/token",
        timeout_s=timeout_s,
    )


def failed(conduct: Conduct, timeout_s: float = 5) -> tuple[Failure, int]:
    with Wire(conduct) as wire:
        with pytest.raises(Failure) as caught:
            refreshed(wire, timeout_s)
        return caught.value, len(wire.seen)


def test_a_fresh_token() -> None:
    before = datetime.now(UTC)
    with Wire(reply(200, GRANTED)) as wire:
        token = refreshed(wire)
        (seen,) = wire.seen
    assert (token.access_token, token.refresh_token) == ("ya29.new", None)
    assert token.scopes == {"a", "b"}
    assert timedelta(seconds=3590) < token.expires_at - before < timedelta(seconds=3610)
    assert (seen.method, seen.target) == ("POST", "/token")
    assert urllib.parse.parse_qs(seen.body.decode()) == {
        "grant_type": ["refresh_token"],
        "refresh_token": ["1//refresh"],
        "client_id": ["client"],
        "client_secret": ["shh"],
    }


def test_a_replaced_refresh_token_and_a_silent_answer() -> None:
    with Wire(reply(200, {"access_token": "ya29.new", "refresh_token": "1//other"})) as wire:
        token = refreshed(wire)
    assert (token.refresh_token, token.scopes) == ("1//other", frozenset())
    assert token.expires_at > datetime.now(UTC) + timedelta(minutes=59)


def test_a_token_shows_no_secret() -> None:
    assert "secret" not in repr(FreshToken("secret", datetime.now(UTC), "secret", frozenset()))


@pytest.mark.parametrize(
    ("status", "body", "kind", "code"),
    [
        (400, {"error": "invalid_grant"}, Unauthorised, "google.invalid_grant"),
        (400, {"error": "invalid_grant", "error_subtype": "invalid_rapt"}, Unauthorised, "google.invalid_grant"),
        (401, {"error": "invalid_client"}, Throttled, "google.invalid_client"),
        (400, {"error": "invalid_request"}, Permanent, "google.invalid_request"),
        (400, {"error": "bad words <1//refresh>"}, Permanent, "google.http_400"),
        (500, {"error": "internal_failure"}, Transient, "google.internal_failure"),
        (503, b"<html>", Transient, "google.http_503"),
        (503, b"[" * 100_000, Transient, "google.http_503"),
        (429, {"error": "rate_limit_exceeded"}, Throttled, "google.rate_limit_exceeded"),
        (200, {}, Transient, "google.unreadable_answer"),
        (200, b"<html>", Transient, "google.unreadable_answer"),
        (200, {"access_token": "x", "expires_in": "soon"}, Transient, "google.unreadable_answer"),
    ],
)
def test_each_refusal_is_one_request_and_one_failure(status: int, body: object, kind: type[Failure], code: str) -> None:
    failure, requests = failed(reply(status, body))
    assert (type(failure), failure.code, requests) == (kind, code, 1)
    assert "1//refresh" not in f"{failure!r}{failure.__context__}{failure.__cause__}"


def test_the_account_whose_consent_is_gone_is_named() -> None:
    failure, _ = failed(reply(400, {"error": "invalid_grant"}))
    assert isinstance(failure, Unauthorised)
    assert failure.account == "account-1"


def test_the_endpoints_wait_is_kept() -> None:
    failure, _ = failed(reply(429, {}, {"Retry-After": "17"}))
    assert isinstance(failure, Throttled)
    assert (failure.retry_after, failure.provider) == (timedelta(seconds=17), "gmail")


@pytest.mark.parametrize(("conduct", "code"), [(drop, "google.connection_lost"), (hang, "google.timeout")])
def test_an_endpoint_that_does_not_answer_is_asked_once(conduct: Conduct, code: str) -> None:
    failure, requests = failed(conduct, timeout_s=0.2)
    assert (type(failure), failure.code, failure.call_state, requests) == (Transient, code, CallState.NOT_DONE, 1)


def emulated(control: GmailControl, refresh_token: str) -> FreshToken:
    return refresh(
        refresh_token,
        account="account-1",
        client_id="client",
        client_secret="shh",
        token_uri=f"{control.url}/token",
        timeout_s=5,
    )


def test_the_emulators_endpoint_gives_a_token_that_opens_the_mailbox(
    control: GmailControl, account: GmailAccount
) -> None:
    token = emulated(control, "refresh-1")
    assert token.refresh_token is None
    assert token.scopes == {"https://www.googleapis.com/auth/gmail.modify"}
    with GmailMailbox(
        meter=unmetered, account=account.email, access_token=token.access_token, timeout_s=5, endpoint=control.url
    ) as mailbox:
        assert mailbox.profile().email == account.email


def test_a_rotated_refresh_token_is_handed_on_and_the_old_one_is_dead(
    control: GmailControl, account: GmailAccount
) -> None:
    account.set_token_policy(rotate=True)
    rotated = emulated(control, "refresh-1").refresh_token
    assert rotated is not None
    with pytest.raises(Unauthorised):
        emulated(control, "refresh-1")
    emulated(control, rotated)


def test_a_revoked_consent(control: GmailControl, account: GmailAccount) -> None:
    account.revoke()
    with pytest.raises(Unauthorised) as caught:
        emulated(control, "refresh-1")
    assert caught.value.code == "google.invalid_grant"
