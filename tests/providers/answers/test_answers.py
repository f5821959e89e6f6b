"""What errors of all vendors mean: about us, about this request, or about now; and nothing else."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.failures import (
    CallState,
    Conflict,
    CredentialsLost,
    Failure,
    Gone,
    Permanent,
    Refused,
    Scope,
    Throttled,
    Transient,
    Unauthorised,
)
from providers.answers import Now, Request
from providers.resend import failures as resend
from providers.rest_client import RestAnswer
from providers.retry_after import LONGEST
from tests.providers.answers.documented import DOCUMENTED, HOUR, MINUTE, Meant
from tests.providers.answers.fleet_wide import TABLES, WHY_NO_TENANT
from tests.providers.answers.vendors import NOW, SENT, VENDORS, Said

ABOUT_REQUEST = {Permanent, Refused, Gone, Conflict}


@pytest.mark.parametrize(("said", "meant"), DOCUMENTED)
def test_each_documented_error_is_about_us_this_request_or_now(said: Said, meant: Meant) -> None:
    failure = said.failure()
    assert (type(failure), failure.code.partition(".")[2]) == (meant.kind, meant.code)
    assert (failure.call_state is CallState.IN_DOUBT) is meant.in_doubt
    if isinstance(failure, Throttled):
        assert (failure.retry_after, failure.scope, failure.grows) == (meant.wait, meant.scope, meant.grows)
    assert meant.about in abouts(failure)
    assert SENT not in f"{failure.code} {failure.reason}"


def abouts(failure: Failure) -> set[str]:
    """What a failure can be about, by what the engine does at it."""
    if isinstance(failure, Unauthorised | CredentialsLost):
        return {"us"}
    if isinstance(failure, Throttled):
        return {"us"} if failure.grows else {"us", "now"}
    return {"request"} if type(failure) in ABOUT_REQUEST else {"now"}


def test_what_is_known_of_every_vendor() -> None:
    """Each has answers of all three kinds, but for endpoints of tokens and alerts, which have nothing to park."""
    told: dict[str, set[str]] = {}
    for said, meant in DOCUMENTED:
        told.setdefault(said.vendor, set()).add(meant.about)
    for vendor in ("anthropic", "gmail", "graph", "resend", "twilio", "fcm", "discord"):
        assert told[vendor] == {"us", "request", "now"}, vendor
    assert told.keys() == VENDORS.keys()


def test_no_tenant_can_close_a_gate_of_the_whole_fleet() -> None:
    """A row that closes one is here with the reason why nobody's mail, mailbox or consent draws it."""
    rows = {
        (vendor, word)
        for vendor, table in TABLES.items()
        for row in table
        if not isinstance(row.meaning, Request) and row.meaning.scope is Scope.PROVIDER
        if isinstance(row.meaning, Now) or row.meaning.wait is not None
        for word in ([row.code] if row.code else row.words.split() or ["any"])
    }
    assert rows == WHY_NO_TENANT.keys()


@pytest.mark.parametrize("vendor", VENDORS)
def test_no_header_parks_for_longer_than_an_hour(vendor: str) -> None:
    for status in (401, 402, 403, 408, 409, 429, 500, 503, 529):
        for header in ("2678400", "Sat, 26 Dec 2026 12:00:00 GMT"):
            failure = Said(vendor, status, None, {"Retry-After": header}).failure()
            assert not isinstance(failure, Throttled) or failure.retry_after <= HOUR


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
ERRORS = st.fixed_dictionaries({"type": VALUES, "code": VALUES, "details": VALUES, "message": VALUES})
FIELDS = st.sampled_from(["error", "code", "name", "message", "retry_after", "global"])
BODIES = VALUES | st.dictionaries(FIELDS, VALUES | ERRORS) | st.binary(max_size=40)
HEADERS = st.none() | st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=30)
STATUSES = st.integers(100, 599).filter(lambda status: not 200 <= status < 300)


@given(vendor=st.sampled_from(sorted(VENDORS)), status=STATUSES, body=BODIES, retry_after=HEADERS)
def test_whatever_comes_is_one_of_the_three(vendor: str, status: int, body: object, retry_after: str | None) -> None:
    headers = {} if retry_after is None else {"Retry-After": retry_after}
    failure = Said(vendor, status, body, headers).failure()
    assert type(failure) in {Throttled, Unauthorised, CredentialsLost, Transient, *ABOUT_REQUEST}
    if isinstance(failure, Throttled):
        assert timedelta() <= failure.retry_after <= LONGEST + resend.CLOCKS_APART
    if status == 408 or status >= 500:
        is_write = "tokens" not in vendor and vendor != "gmail reads"
        assert (failure.call_state is CallState.IN_DOUBT) is is_write
    assert len(failure.code) < 100


def test_a_quota_that_clocks_disagree_on_costs_no_day() -> None:
    for word, now, waits in (
        ("daily", NOW.replace(hour=23, minute=59), MINUTE + resend.CLOCKS_APART),
        ("daily", NOW.replace(hour=0, minute=1), resend.AGAIN),
        ("daily", NOW.replace(hour=0) + resend.AFTER_TURN, 23 * HOUR + resend.CLOCKS_APART),
        ("monthly", datetime(2026, 12, 1, 0, 30, tzinfo=UTC), resend.AGAIN),
        ("monthly", datetime(2026, 12, 31, 23, 59, tzinfo=UTC), MINUTE + resend.CLOCKS_APART),
        ("daily", datetime.fromisoformat("2026-11-26T23:30:00+02:00"), 2.5 * HOUR + resend.CLOCKS_APART),
    ):
        body = json.dumps({"name": f"{word}_quota_exceeded"}).encode()
        failure = resend.failure_of(RestAnswer(429, {}, body), now, "an org")
        assert isinstance(failure, Throttled)
        assert failure.retry_after == waits
