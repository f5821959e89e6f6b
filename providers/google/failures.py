"""The table that turns every error of Google's client libraries into one of our failures (docs: gmail.md#errors).

Pure: the time is an argument. No reason carries the vendor's text, an address, a query or a token,
because all of them may hold secrets or mail content; the vendor's reason words are enough to look it up.
"""

from datetime import timedelta

from google.auth.exceptions import RefreshError
from googleapiclient.errors import HttpError

from domain.jobs.failures import CallState, Conflict, Failure, Gone, Scope, Transient
from providers.answers import HOUR, UNPROVEN, AnswerRow, ErrorAnswer, Now, Request, Us, VendorCall
from providers.answers import failure_of as failure_by
from providers.connections import NeverConnected
from providers.google.refusals import read_refresh_error, read_refusal

GMAIL = "gmail"
"""The provider that all jobs name which need Google: its gate also closes where the token endpoint refuses us."""


SENDING_LIMIT = "sendingLimit"
"""The word in the code of a refusal that concerns sent mail only (docs: gmail.md#sending)."""

RATE_WORDS, DAY_WORD = "rateLimitExceeded userRateLimitExceeded quotaExceeded", "dailyLimitExceeded"

SLOW_ACCOUNT = Now(Scope.ACCOUNT, timedelta(minutes=1))
PASSING = Now(Scope.ACCOUNT)
SPENT_ACCOUNT = Us(HOUR, Scope.ACCOUNT)
PROJECT = Us(HOUR)
"""A day's quota returns at Google's midnight; looking again each hour needs no knowledge of its clock."""

TABLE = (
    AnswerRow((400, 404), Request(Gone), text="not a draft", code="notADraft"),
    AnswerRow((400,), Request(Conflict), text="only one user push notification client", code="otherPushClient"),
    # Of one account: its consent is gone, or its refresh token is of an earlier client of ours.
    AnswerRow((400, 401, 403), Us(), "invalid_grant unauthorized_client"),
    # Our client is not known any more, or our project may not use the API: no account's calls would be taken.
    AnswerRow((400, 401, 403), PROJECT, "invalid_client deleted_client disabled_client"),
    AnswerRow((403,), PROJECT, "accessNotConfigured SERVICE_DISABLED CONSUMER_SUSPENDED BILLING_DISABLED"),
    AnswerRow((400,), PASSING, "failedPrecondition FAILED_PRECONDITION", code="failedPrecondition"),
    # The token endpoint's words for a bad moment of its own.
    AnswerRow((400, 403), SLOW_ACCOUNT, "rate_limit_exceeded slow_down"),
    AnswerRow((400,), PASSING, "temporarily_unavailable server_error internal_failure"),
    AnswerRow((401,), Us(), code="authError"),
    # The day's mails are used up; reading goes on, so the mailbox as a whole is not parked. Google has several words:
    # "(Mail sending)", "Daily user sending limit exceeded".
    AnswerRow((429,), SPENT_ACCOUNT, text="sending", code=SENDING_LIMIT),
    AnswerRow((403,), SPENT_ACCOUNT, f"{RATE_WORDS} {DAY_WORD}", text="sending", code=SENDING_LIMIT),
    # The token endpoint refuses too many requests so, and a proxy whatever it does not like.
    AnswerRow((403,), PASSING, wordless=True),
    AnswerRow((403,), PROJECT, DAY_WORD),
    # Google documents this status for limits of a user only.
    AnswerRow((429,), SPENT_ACCOUNT, DAY_WORD),
    AnswerRow((403,), SLOW_ACCOUNT, RATE_WORDS),
    AnswerRow((403,), SLOW_ACCOUNT, "RATE_LIMIT_EXCEEDED", code="rateLimitExceeded"),
    AnswerRow(
        (403,),
        Us(),
        "insufficientPermissions ACCESS_TOKEN_SCOPE_INSUFFICIENT",
        code="insufficientPermissions",
    ),
    AnswerRow((404, 410), Request(Gone)),
    AnswerRow((409,), Request(Conflict)),
    AnswerRow((429,), SLOW_ACCOUNT),
    AnswerRow(UNPROVEN, PASSING),
)
"""First match wins."""

FAULTS: tuple[tuple[type[Exception], str, bool], ...] = (
    (NeverConnected, "unreachable", False),
    (TimeoutError, "timeout", True),
    (OSError, "connection_lost", True),
)
"""What can go wrong without an answer: (error, code, whether the request may have arrived)."""

ERRORS = (
    HttpError,
    RefreshError,
    OSError,
    # An answer that is no JSON, or not of the documented shape.
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    RecursionError,
)
"""Everything a call, or reading its answer, may raise."""


def failure_of(error: Exception, call: VendorCall) -> Failure:
    """Our failure for an error out of `ERRORS`; pure."""
    if isinstance(error, HttpError):
        return failure_by_table(read_refusal(error, call.now), call)
    if isinstance(error, RefreshError):
        return failure_by_table(read_refresh_error(error, call.now), call)
    for kind, word, arrived in FAULTS:
        if isinstance(error, kind):
            return _lost(call, word, arrived=arrived)
    return _lost(call, "unreadable_answer", arrived=True)


def failure_by_table(answer: ErrorAnswer, call: VendorCall) -> Failure:
    """Look the answer up in the table and build the failure."""
    return failure_by(TABLE, answer, call)


def _lost(call: VendorCall, word: str, *, arrived: bool) -> Failure:
    call_state = CallState.IN_DOUBT if arrived and call.writes else CallState.NOT_DONE
    return Transient(f"{call.name}: {word}", code=f"{call.provider}.{word}", call_state=call_state)
