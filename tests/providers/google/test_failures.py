"""Every row of the error table of Gmail and Google's token endpoint."""

import json
from datetime import UTC, datetime, timedelta

import httplib2
import pytest
from google.auth.exceptions import RefreshError
from googleapiclient.errors import HttpError
from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.failures import (
    CallState,
    Conflict,
    Failure,
    Gone,
    Permanent,
    Scope,
    Throttled,
    Transient,
    Unauthorised,
)
from providers.google.failures import TABLE, Call, Row, failure_by_table, failure_of
from providers.google.refusals import ErrorAnswer

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
WRITE = Call("gmail", "gmail.users.drafts.send", "account-1", writes=True, now=NOW)
READ = Call("gmail", "gmail.users.messages.get", "account-1", writes=False, now=NOW)


def http_error(status: int, error: object, headers: dict[str, str] | None = None) -> HttpError:
    answer = httplib2.Response({"status": str(status), **(headers or {})})
    return HttpError(answer, json.dumps({"error": error}).encode(), uri="https://gmail.googleapis.com/?q=secret")


def reasoned(status: int, reason: str, message: str = "", **headers: str) -> HttpError:
    body = {"code": status, "message": message, "errors": [{"domain": "global", "reason": reason, "message": message}]}
    return http_error(status, body, {name.replace("_", "-"): value for name, value in headers.items()})


REFUSALS: list[tuple[int, str, str, type[Failure], str]] = [
    (400, "failedPrecondition", "Precondition check failed.", Transient, "gmail.failedPrecondition"),
    (400, "invalidArgument", "Invalid label name", Permanent, "gmail.invalidArgument"),
    (400, "invalidArgument", "Invalid To header", Permanent, "gmail.invalidArgument"),
    (400, "failedPrecondition", "Message not a draft", Gone, "gmail.notADraft"),
    (400, "invalid_grant", "", Unauthorised, "gmail.invalid_grant"),
    (
        400,
        "invalidArgument",
        "Only one user push notification client allowed per developer (call /stop then try again)",
        Conflict,
        "gmail.otherPushClient",
    ),
    (401, "authError", "Invalid Credentials", Unauthorised, "gmail.authError"),
    (403, "rateLimitExceeded", "", Throttled, "gmail.rateLimitExceeded"),
    (403, "userRateLimitExceeded", "", Throttled, "gmail.userRateLimitExceeded"),
    (403, "quotaExceeded", "", Throttled, "gmail.quotaExceeded"),
    (403, "dailyLimitExceeded", "", Throttled, "gmail.dailyLimitExceeded"),
    (403, "insufficientPermissions", "", Unauthorised, "gmail.insufficientPermissions"),
    (403, "rate_limit_exceeded", "", Throttled, "gmail.rate_limit_exceeded"),
    (400, "temporarily_unavailable", "", Transient, "gmail.temporarily_unavailable"),
    (403, "domainPolicy", "", Permanent, "gmail.domainPolicy"),
    (403, "somethingNew", "", Permanent, "gmail.somethingNew"),
    (404, "notFound", "", Gone, "gmail.notFound"),
    (409, "aborted", "Label name exists or conflicts", Conflict, "gmail.aborted"),
    (412, "conditionNotMet", "", Permanent, "gmail.conditionNotMet"),
    (413, "uploadTooLarge", "", Permanent, "gmail.uploadTooLarge"),
    (429, "rateLimitExceeded", "Too many concurrent requests for user", Throttled, "gmail.rateLimitExceeded"),
    (429, "dailyLimitExceeded", "", Throttled, "gmail.dailyLimitExceeded"),
    (429, "rateLimitExceeded", "User-rate limit exceeded. (Mail sending)", Throttled, "gmail.sendingLimit"),
    (429, "rateLimitExceeded", "Daily user sending limit exceeded", Throttled, "gmail.sendingLimit"),
    (429, "dailyLimitExceeded", "Daily user sending quota exceeded.", Throttled, "gmail.sendingLimit"),
    (403, "userRateLimitExceeded", "Daily Sending Quota Exceeded", Throttled, "gmail.sendingLimit"),
    (403, "dailyLimitExceeded", "Mail sending limit exceeded", Throttled, "gmail.sendingLimit"),
    (403, "domainPolicy", "Sending is disabled for the domain", Permanent, "gmail.domainPolicy"),
    (408, "requestTimeout", "", Transient, "gmail.requestTimeout"),
    (500, "backendError", "", Transient, "gmail.backendError"),
    (503, "backendError", "", Transient, "gmail.backendError"),
    (301, "moved", "", Permanent, "gmail.moved"),
    (418, "teapot", "", Permanent, "gmail.teapot"),
]


@pytest.mark.parametrize(("status", "reason", "message", "kind", "code"), REFUSALS)
def test_each_refusal_becomes_its_failure(
    status: int, reason: str, message: str, kind: type[Failure], code: str
) -> None:
    failure = failure_of(reasoned(status, reason, message), READ)
    assert type(failure) is kind
    assert failure.code == code
    assert failure.call_state is CallState.NOT_DONE


def test_every_row_of_the_table_decides_some_refusal_above() -> None:
    decided = set()
    for status, reason, message, _, _ in REFUSALS:
        refusal = ErrorAnswer(status, (reason,), message)
        decided.add(next((row for row in TABLE if _decides(row, refusal)), None))
    words = {"RATE_LIMIT_EXCEEDED", "invalid_client"}
    spoken_for_below = {row for row in TABLE if row.words & words or row.wordless}
    assert set(TABLE) - decided - spoken_for_below == set()


def _decides(row: Row, refusal: ErrorAnswer) -> bool:
    words_agree = not row.words or bool(row.words & set(refusal.words))
    return refusal.status in row.statuses and words_agree and row.text in refusal.text.lower() and not row.wordless


def test_a_403_without_a_reason_is_a_page_of_somebody_elses_and_passes() -> None:
    failure = failure_of(http_error(403, {}), WRITE)
    assert (type(failure), failure.call_state, failure.code) == (Transient, CallState.NOT_DONE, "gmail.http_403")


@pytest.mark.parametrize("status", [408, 500, 502, 503, 504])
def test_a_server_error_on_a_write_leaves_the_call_in_doubt(status: int) -> None:
    failure = failure_of(http_error(status, {}), WRITE)
    assert (type(failure), failure.call_state, failure.code) == (Transient, CallState.IN_DOUBT, f"gmail.http_{status}")


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 413, 429])
def test_a_refused_write_did_nothing(status: int) -> None:
    assert failure_of(http_error(status, {}), WRITE).call_state is CallState.NOT_DONE


def test_the_reason_may_stand_in_the_details_only() -> None:
    details = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "ACCESS_TOKEN_SCOPE_INSUFFICIENT"}]
    failure = failure_of(http_error(403, {"status": "PERMISSION_DENIED", "details": details}), READ)
    assert isinstance(failure, Unauthorised)
    assert (failure.account, failure.code) == ("account-1", "gmail.insufficientPermissions")


@pytest.mark.parametrize(
    ("limit", "scope"),
    [("defaultPerMinutePerUser", Scope.ACCOUNT), ("defaultPerMinutePerProject", Scope.PROVIDER)],
)
def test_an_exhausted_limit_parks_whom_it_concerns(limit: str, scope: Scope) -> None:
    info = {"reason": "RATE_LIMIT_EXCEEDED", "metadata": {"quota_limit": limit}}
    failure = failure_of(http_error(403, {"details": [info]}), READ)
    assert isinstance(failure, Throttled)
    assert (failure.scope, failure.code) == (scope, "gmail.rateLimitExceeded")


def test_a_days_limit_parks_the_provider_for_an_hour() -> None:
    failure = failure_of(reasoned(403, "dailyLimitExceeded"), READ)
    assert isinstance(failure, Throttled)
    assert (failure.scope, failure.provider, failure.retry_after) == (Scope.PROVIDER, "gmail", timedelta(hours=1))


def test_a_limit_that_names_no_time_parks_the_account_for_a_minute() -> None:
    failure = failure_of(reasoned(429, "userRateLimitExceeded"), READ)
    assert isinstance(failure, Throttled)
    assert (failure.scope, failure.retry_after) == (Scope.ACCOUNT, timedelta(minutes=1))


@pytest.mark.parametrize(
    ("message", "headers", "seconds"),
    [
        ("User-rate limit exceeded.  Retry after 2026-11-01T12:05:00.500Z (Mail sending)", {}, 300.5),
        ("User-rate limit exceeded.  Retry after 2026-11-01T14:05:00+02:00", {}, 300),
        ("", {"retry_after": "90"}, 90),
        ("", {"retry_after": "Sun, 01 Nov 2026 12:10:00 GMT"}, 600),
        ("Retry after 2026-11-01T12:05:00Z", {"retry_after": "7"}, 300),
        ("Retry after 2026-11-01T11:00:00Z", {}, 0),
        ("Retry after teatime", {"retry_after": "soon"}, 60),
        ("Retry after 2026-13-45T99:00:00Z", {}, 60),
        ("", {"retry_after": "999999999"}, 31 * 86400),
    ],
)
def test_the_wait_is_read_from_text_and_header(message: str, headers: dict[str, str], seconds: float) -> None:
    failure = failure_of(reasoned(429, "rateLimitExceeded", message, **headers), READ)
    assert isinstance(failure, Throttled)
    assert failure.retry_after == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("word", "status", "kind", "code"),
    [
        ("invalid_grant", 400, Unauthorised, "google.invalid_grant"),
        ("invalid_client", 401, Permanent, "google.invalid_client"),
        ("unauthorized_client", 400, Permanent, "google.unauthorized_client"),
        ("invalid_request", 400, Permanent, "google.invalid_request"),
        ("rate_limit_exceeded", 429, Throttled, "google.rate_limit_exceeded"),
        ("internal_failure", 500, Transient, "google.internal_failure"),
    ],
)
def test_each_refusal_of_the_token_endpoint(word: str, status: int, kind: type[Failure], code: str) -> None:
    error = RefreshError(word, {"error": word, "status": status})  # type: ignore[no-untyped-call]  # untyped library
    failure = failure_of(error, Call("google", "oauth2.token", "account-1", writes=False, now=NOW))
    assert (type(failure), failure.code) == (kind, code)


@pytest.mark.parametrize("content", [b"", b"<html>", b"[1]", b'{"error": "text"}', b"\xff"])
def test_an_error_that_is_no_json_is_translated_by_its_status(content: bytes) -> None:
    error = HttpError(httplib2.Response({"status": "503"}), content, uri="https://gmail.googleapis.com/")
    assert failure_of(error, READ).code == "gmail.http_503"


def test_no_reason_repeats_what_google_said() -> None:
    failure = failure_of(reasoned(400, "invalid To <bob@example.org>", "Invalid To header: bob@example.org"), WRITE)
    assert failure.reason == "gmail.users.drafts.send: status 400, http_400"


@given(
    status=st.integers(100, 999),
    words=st.lists(st.text(max_size=20), max_size=3),
    text=st.text(max_size=80),
    header=st.none() | st.text(max_size=30),
)
def test_whatever_comes_is_some_failure_with_a_wait_in_bounds(
    status: int, words: list[str], text: str, header: str | None
) -> None:
    failure = failure_by_table(ErrorAnswer(status, tuple(words), text, header), WRITE)
    if isinstance(failure, Throttled):
        assert timedelta() <= failure.retry_after <= timedelta(days=31)
    assert failure.code.startswith("gmail.")
