"""The table that turns every error of Google's client libraries into one of our failures (docs: gmail.md#errors).

Pure: the time is an argument. No reason carries the vendor's text, an address, a query or a token,
because all of them may hold secrets or mail content; the vendor's reason words are enough to look it up.
"""

import http.client
from collections.abc import Callable, Container
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto

import httplib2
from google.auth.exceptions import RefreshError
from googleapiclient.errors import HttpError

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
from providers.google.refusals import ErrorAnswer, read_refresh_error, read_refusal
from providers.google.transport import NeverConnected
from providers.retry_after import header_wait, worded_wait


@dataclass(frozen=True, slots=True)
class Call:
    """The call that failed: enough to translate its error and to name it."""

    provider: str
    """`gmail` or `google`; the prefix of every code."""
    method: str
    account: str
    writes: bool
    """Whether the call changes anything at the provider; then a lost answer leaves the call in doubt."""
    now: datetime


class FailureKind(Enum):
    """What an error means for the job."""

    TRANSIENT = auto()
    DOUBTFUL = auto()
    """Transient, and what was asked may have happened."""
    SLOW_ACCOUNT = auto()
    SLOW_PROJECT = auto()
    SENDING_LIMIT = auto()
    UNAUTHORISED = auto()
    GONE = auto()
    CONFLICT = auto()
    PERMANENT = auto()


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: it applies when status, one of the words, and the text agree."""

    statuses: Container[int]
    kind: FailureKind
    words: frozenset[str] = frozenset()
    text: str = ""
    wordless: bool = False
    """Applies to an answer without a reason of Google's own: a page of HTML."""
    code: str | None = None
    wait: timedelta = timedelta(minutes=1)


def _words(*words: str) -> frozenset[str]:
    return frozenset(words)


HOUR = timedelta(hours=1)
"""A day's quota returns at Google's midnight; looking again each hour needs no knowledge of its clock."""

SENDING_LIMIT = "sendingLimit"
"""The word in the code of a refusal that concerns sent mail only (docs: gmail.md#sending)."""

RATE_WORDS, DAY_WORD = _words("rateLimitExceeded", "userRateLimitExceeded", "quotaExceeded"), "dailyLimitExceeded"

TABLE = (
    Row((400, 404), FailureKind.GONE, text="not a draft", code="notADraft"),
    Row((400,), FailureKind.CONFLICT, text="only one user push notification client", code="otherPushClient"),
    Row((400, 401), FailureKind.UNAUTHORISED, _words("invalid_grant"), code="invalid_grant"),
    Row((400, 401, 403), FailureKind.PERMANENT, _words("invalid_client", "unauthorized_client", "deleted_client")),
    Row((400,), FailureKind.TRANSIENT, _words("failedPrecondition", "FAILED_PRECONDITION"), code="failedPrecondition"),
    # The token endpoint's words for a bad moment of its own.
    Row((400, 403), FailureKind.SLOW_ACCOUNT, _words("rate_limit_exceeded", "slow_down")),
    Row((400,), FailureKind.TRANSIENT, _words("temporarily_unavailable", "server_error", "internal_failure")),
    Row((400,), FailureKind.PERMANENT),
    Row((401,), FailureKind.UNAUTHORISED, code="authError"),
    # The day's mails are used up; reading goes on, so the mailbox as a whole is not parked. Google has several words:
    # "(Mail sending)", "Daily user sending limit exceeded".
    Row((429,), FailureKind.SENDING_LIMIT, text="sending", code=SENDING_LIMIT, wait=HOUR),
    Row((403,), FailureKind.SENDING_LIMIT, RATE_WORDS | {DAY_WORD}, text="sending", code=SENDING_LIMIT, wait=HOUR),
    # The token endpoint refuses too many requests so, and a proxy whatever it does not like.
    Row((403,), FailureKind.TRANSIENT, wordless=True),
    Row((403, 429), FailureKind.SLOW_PROJECT, _words(DAY_WORD), wait=HOUR),
    Row((403,), FailureKind.SLOW_ACCOUNT, RATE_WORDS),
    Row((403,), FailureKind.SLOW_ACCOUNT, _words("RATE_LIMIT_EXCEEDED"), code="rateLimitExceeded"),
    Row(
        (403,),
        FailureKind.UNAUTHORISED,
        _words("insufficientPermissions", "ACCESS_TOKEN_SCOPE_INSUFFICIENT"),
        code="insufficientPermissions",
    ),
    Row((403,), FailureKind.PERMANENT, _words("domainPolicy")),
    Row((403,), FailureKind.PERMANENT),
    Row((404, 410), FailureKind.GONE),
    Row((409,), FailureKind.CONFLICT),
    Row((429,), FailureKind.SLOW_ACCOUNT),
    Row((408, *range(500, 600)), FailureKind.DOUBTFUL),
)
"""First match wins; an answer that no line knows is permanent."""

OTHERWISE = Row(range(1000), FailureKind.PERMANENT)

FAULTS: tuple[tuple[tuple[type[Exception], ...], str, bool], ...] = (
    ((NeverConnected, httplib2.ServerNotFoundError, ConnectionRefusedError), "unreachable", False),
    ((TimeoutError,), "timeout", True),
    ((OSError, http.client.HTTPException, httplib2.HttpLib2Error), "connection_lost", True),
)
"""What can go wrong without an answer: (errors, code, whether the request may have arrived)."""

ERRORS = (
    HttpError,
    RefreshError,
    OSError,
    http.client.HTTPException,
    httplib2.HttpLib2Error,
    # An answer that is no JSON, or not of the documented shape.
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    RecursionError,
)
"""Everything a call, or reading its answer, may raise."""


def failure_of(error: Exception, call: Call) -> Failure:
    """Our failure for an error out of `ERRORS`; pure."""
    if isinstance(error, HttpError):
        return failure_by_table(read_refusal(error), call)
    if isinstance(error, RefreshError):
        return failure_by_table(read_refresh_error(error), call)
    for kinds, word, arrived in FAULTS:
        if isinstance(error, kinds):
            return _lost(call, word, arrived=arrived)
    return _lost(call, "unreadable_answer", arrived=True)


def failure_by_table(refusal: ErrorAnswer, call: Call) -> Failure:
    """Look the refusal up in the table and build the failure."""
    row = next((row for row in TABLE if _applies(row, refusal)), OTHERWISE)
    word = row.code or _named(row, refusal)
    reason = f"{call.method}: status {refusal.status}, {word}"
    return _BUILDERS[row.kind](reason, f"{call.provider}.{word}", _Case(refusal, row, call))


@dataclass(frozen=True, slots=True)
class _Case:
    refusal: ErrorAnswer
    row: Row
    call: Call


def _applies(row: Row, refusal: ErrorAnswer) -> bool:
    return (
        refusal.status in row.statuses
        and (not row.words or not row.words.isdisjoint(refusal.words))
        and not (row.wordless and refusal.words)
        and row.text in refusal.text.casefold()
    )


def _named(row: Row, refusal: ErrorAnswer) -> str:
    known = (word for word in refusal.words if not row.words or word in row.words)
    return next(known, f"http_{refusal.status}")


def _lost(call: Call, word: str, *, arrived: bool) -> Failure:
    call_state = CallState.IN_DOUBT if arrived and call.writes else CallState.NOT_DONE
    return Transient(f"{call.method}: {word}", code=f"{call.provider}.{word}", call_state=call_state)


def _transient(reason: str, code: str, _case: _Case) -> Failure:
    return Transient(reason, code=code)


def _doubtful(reason: str, code: str, case: _Case) -> Failure:
    return Transient(reason, code=code, call_state=CallState.IN_DOUBT if case.call.writes else CallState.NOT_DONE)


def _slow_account(reason: str, code: str, case: _Case) -> Failure:
    # Google names the exhausted limit, for example "defaultPerMinutePerProject".
    scope = Scope.PROVIDER if "PerProject" in case.refusal.quota_limit else Scope.ACCOUNT
    return _throttled(reason, code, case, scope)


def _slow_project(reason: str, code: str, case: _Case) -> Failure:
    return _throttled(reason, code, case, Scope.PROVIDER)


def _throttled(reason: str, code: str, case: _Case, scope: Scope) -> Throttled:
    asked = [header_wait(case.refusal.retry_after, case.call.now), worded_wait(case.refusal.text, case.call.now)]
    wait = max((wait for wait in asked if wait is not None), default=case.row.wait)
    return Throttled(reason, retry_after=wait, scope=scope, provider=case.call.provider, code=code)


def _unauthorised(reason: str, code: str, case: _Case) -> Failure:
    return Unauthorised(reason, account=case.call.account, code=code)


def _gone(reason: str, code: str, _case: _Case) -> Failure:
    return Gone(reason, code=code)


def _conflict(reason: str, code: str, _case: _Case) -> Failure:
    return Conflict(reason, code=code)


def _permanent(reason: str, code: str, _case: _Case) -> Failure:
    return Permanent(reason, code=code)


_BUILDERS: dict[FailureKind, Callable[[str, str, _Case], Failure]] = {
    FailureKind.TRANSIENT: _transient,
    FailureKind.DOUBTFUL: _doubtful,
    FailureKind.SLOW_ACCOUNT: _slow_account,
    FailureKind.SLOW_PROJECT: _slow_project,
    FailureKind.SENDING_LIMIT: _slow_account,
    FailureKind.UNAUTHORISED: _unauthorised,
    FailureKind.GONE: _gone,
    FailureKind.CONFLICT: _conflict,
    FailureKind.PERMANENT: _permanent,
}
