"""Authentication and limits: tokens, refreshes, quota, concurrency, error bodies, through Google's own libraries."""

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime

import pytest
from google.auth.exceptions import RefreshError
from googleapiclient.errors import HttpError

from sandbox.emulator.control import FaultOrder, GmailAccount, GmailControl
from sandbox.emulator.emulator import Emulator
from sandbox.google.gmail import gmail_emulator
from tests.sandbox.letters import letter
from tests.sandbox.sdk import GmailUsers, gmail_users


def test_two_accounts_are_told_apart_by_their_tokens(gmail: Emulator, control: GmailControl) -> None:
    for name in ("ana", "ben"):
        control.create_account(f"{name}@example.com", f"access-{name}", f"refresh-{name}").deliver(letter(name))
    for name in ("ana", "ben"):
        with gmail_users(gmail.url, f"access-{name}") as users:
            assert users.getProfile(userId="me").execute()["emailAddress"] == f"{name}@example.com"
            assert len(users.messages().list(userId="me", q=f"subject:{name}").execute()["messages"]) == 1
    with gmail_users(gmail.url, "access-ana") as users, pytest.raises(HttpError) as refused:
        users.getProfile(userId="ben@example.com").execute()
    assert refused.value.status_code == 403


def test_an_expired_token_is_refreshed_by_the_library(
    control: GmailControl, users: GmailUsers, account: GmailAccount
) -> None:
    account.expire_access()
    assert users.getProfile(userId="me").execute()["emailAddress"] == account.email
    calls = [(call.operation, call.status, call.account) for call in control.journal()]
    assert calls == [
        ("getProfile", 401, None),
        ("oauth.token", 200, account.email),
        ("getProfile", 200, account.email),
    ]


def test_tokens_run_out_by_the_clock(control: GmailControl, users: GmailUsers, account: GmailAccount) -> None:
    account.set_token_policy(expires_in_s=400)
    control.advance_clock(3_600)
    users.getProfile(userId="me").execute()
    control.advance_clock(401)
    users.getProfile(userId="me").execute()
    assert len(control.journal("oauth.token")) == 2


def test_a_revoked_consent_is_invalid_grant_until_it_is_given_again(
    gmail: Emulator, users: GmailUsers, account: GmailAccount
) -> None:
    account.revoke()
    with pytest.raises(RefreshError) as refused:
        users.getProfile(userId="me").execute()
    assert refused.value.args[1]["error"] == "invalid_grant"
    assert not refused.value.retryable
    account.consent("access-2", "refresh-2")
    with gmail_users(gmail.url, "access-2", "refresh-2") as again:
        assert again.getProfile(userId="me").execute()["emailAddress"] == account.email


def test_invalid_grant_on_order(control: GmailControl, users: GmailUsers, account: GmailAccount) -> None:
    account.expire_access()
    control.order(FaultOrder(operation="oauth.token", status=400, reason="invalid_grant", message="once"))
    with pytest.raises(RefreshError):
        users.getProfile(userId="me").execute()
    users.getProfile(userId="me").execute()


def test_a_rotated_refresh_token_kills_the_old_one(gmail: Emulator, account: GmailAccount) -> None:
    account.set_token_policy(rotate=True)
    account.expire_access()
    with gmail_users(gmail.url) as winner:
        winner.getProfile(userId="me").execute()
    with gmail_users(gmail.url, "stale") as loser, pytest.raises(RefreshError) as refused:
        loser.getProfile(userId="me").execute()
    assert refused.value.args[1]["error"] == "invalid_grant"


@pytest.mark.parametrize("status", [403, 429])
def test_quota_is_counted_in_units_per_user_and_minute(
    control: GmailControl, users: GmailUsers, account: GmailAccount, status: int
) -> None:
    place = account.turn(quota_per_minute=45, quota_status=status).deliver(letter())
    for _ in range(2):
        users.messages().get(userId="me", id=place.message_id).execute()
    with pytest.raises(HttpError) as refused:
        users.messages().get(userId="me", id=place.message_id).execute()
    body = json.loads(refused.value.content)["error"]
    assert (body["code"], body["errors"][0]["reason"]) == (status, "rateLimitExceeded")
    assert body["errors"][0]["domain"] == "usageLimits"
    if status == 429:
        assert "retry-after" not in refused.value.resp
        until = datetime.fromisoformat(body["message"].partition("Retry after ")[2])
        assert 0 < until.timestamp() - control.advance_clock(0) <= 60
    users.getProfile(userId="me").execute()
    control.advance_clock(61)
    users.messages().get(userId="me", id=place.message_id).execute()


def test_too_many_calls_at_once_are_refused() -> None:
    def hang(url: str) -> None:
        with suppress(OSError), gmail_users(url) as users:
            users.getProfile(userId="me").execute()

    # the emulator closes first, which ends the hang, and then the pool can join
    with ThreadPoolExecutor(1) as pool, gmail_emulator() as emulator:
        control = GmailControl(emulator.url)
        control.create_account("reader@example.com", "access-1", "refresh-1").turn(concurrency=1)
        control.order(FaultOrder(operation="getProfile", hang_s=60))
        pool.submit(hang, emulator.url)
        control.wait_for("getProfile")
        with gmail_users(emulator.url) as users, pytest.raises(HttpError) as refused:
            users.labels().list(userId="me").execute()
    assert (refused.value.status_code, refused.value.reason) == (429, "Too many concurrent requests for user.")


def test_401_once_is_healed_by_a_refresh(control: GmailControl, users: GmailUsers) -> None:
    control.order(FaultOrder(operation="labels.list", status=401))
    assert users.labels().list(userId="me").execute()["labels"]
    assert [call.operation for call in control.journal()] == ["labels.list", "oauth.token", "labels.list"]


def test_an_ordered_429_says_when_in_the_text(control: GmailControl, users: GmailUsers) -> None:
    control.order(FaultOrder(operation="labels.list", status=429))
    with pytest.raises(HttpError, match=r"Retry after \d{4}-\d\d-\d\dT[\d:.]+Z"):
        users.labels().list(userId="me").execute()


@pytest.mark.parametrize(
    ("status", "reason", "word"),
    [
        (400, "failedPrecondition", "FAILED_PRECONDITION"),
        (403, "dailyLimitExceeded", "PERMISSION_DENIED"),
        (403, "domainPolicy", "PERMISSION_DENIED"),
        (503, "backendError", "UNAVAILABLE"),
    ],
)
def test_an_ordered_refusal_has_googles_shape(
    control: GmailControl, users: GmailUsers, status: int, reason: str, word: str
) -> None:
    control.order(FaultOrder(operation="labels.list", status=status, reason=reason, message="So ordered"))
    with pytest.raises(HttpError) as refused:
        users.labels().list(userId="me").execute()
    assert json.loads(refused.value.content) == {
        "error": {
            "code": status,
            "message": "So ordered",
            "errors": [
                {
                    "message": "So ordered",
                    "domain": "usageLimits" if "Limit" in reason else "global",
                    "reason": reason,
                }
            ],
            "status": word,
        }
    }
    assert users.labels().list(userId="me").execute()["labels"]


def test_a_missing_scope_says_so_in_its_details(control: GmailControl, users: GmailUsers) -> None:
    control.order(FaultOrder(operation="labels.list", status=403, reason="insufficientPermissions"))
    with pytest.raises(HttpError) as refused:
        users.labels().list(userId="me").execute()
    assert refused.value.error_details[0]["reason"] == "ACCESS_TOKEN_SCOPE_INSUFFICIENT"


@pytest.mark.parametrize("depth", [90, 1_000])
def test_a_message_nested_a_thousand_deep_is_served(users: GmailUsers, account: GmailAccount, depth: int) -> None:
    levels = b"".join(b"Content-Type: multipart/mixed; boundary=b%d\r\n\r\n--b%d\r\n" % (n, n) for n in range(depth))
    place = account.deliver(b"From: a@example.com\r\nSubject: deep\r\n" + levels + b"\r\nbottom")
    for shape in ("raw", "full", "metadata", "minimal"):
        shown = users.messages().get(userId="me", id=place.message_id, format=shape).execute()
        assert shown["id"] == place.message_id
    assert users.messages().list(userId="me", q="deep").execute()["messages"][0]["id"] == place.message_id
