"""What Discord's answers to the bot mean (docs: discord.md#answers). Pure: the time is an argument."""

from datetime import datetime, timedelta

from domain.jobs.failures import Failure, Gone, Scope, Throttled, Transient
from providers.answers import HOUR, UNPROVEN, AnswerRow, ErrorAnswer, Now, Request, Us, VendorCall
from providers.answers import failure_of as failure_by
from providers.rest_client import RestAnswer
from providers.retry_after import LONGEST

PROVIDER = "discord"

KEY_WAIT = timedelta(minutes=15)
"""For a refused token: Discord refuses every call, and bans a caller after 10,000 refusals in ten minutes."""
CHANNEL_GONE = f"{PROVIDER}.channel_gone"
"""The code of a failure that proves that a channel was deleted."""
_GONE = {10003: "channel_gone", 10008: "message_gone"}

TABLE = (
    # A limit that is not global is a route's of one channel, which is one org's.
    AnswerRow((429,), Now(Scope.ORG, timedelta(minutes=1)), code="rate_limit"),
    AnswerRow((401,), Us(KEY_WAIT), code="unauthorised"),
    AnswerRow(UNPROVEN, Now(Scope.ORG)),
    *(AnswerRow((404,), Request(Gone), word) for word in _GONE.values()),
    AnswerRow((404,), Request(Gone), code="not_found"),
)


def failure_of(answer: RestAnswer, now: datetime) -> Failure | None:
    """Our failure for an answer, None for a 2xx; no reason quotes the body, which may quote what was sent."""
    if answer.is_success:
        return None
    number = answer.field("code")
    words = (_GONE.get(number) if isinstance(number, int) else None,)
    read = ErrorAnswer.read(answer.status, words, "", answer.headers.get("retry-after"), now)
    is_global = answer.field("global") is True or answer.headers.get("x-ratelimit-scope") == "global"
    error = ErrorAnswer(
        read.status, read.words, asked=worded_wait(answer) or read.asked, scope=Scope.PROVIDER if is_global else None
    )
    return failure_by(TABLE, error, VendorCall(PROVIDER, now))


def nonce_elsewhere() -> Failure:
    """For a question that is not posted, because Discord still knows its nonce from another channel."""
    return Transient("discord: the nonce is still known from another channel", code="discord.nonce_elsewhere")


def exhausted(answer: RestAnswer) -> timedelta | None:
    """How long the route's window is used up after this answer; None while there is room."""
    if answer.headers.get("x-ratelimit-remaining") != "0":
        return None
    return _seconds(answer.headers.get("x-ratelimit-reset-after"))


def route_full(wait: timedelta) -> Throttled:
    """For a call that is not made, because its route's window is used up."""
    reason, code = "discord: the route's window is used up", f"{PROVIDER}.rate_limit"
    return Throttled(reason, retry_after=min(wait, HOUR), scope=Scope.ORG, provider=PROVIDER, code=code)


def worded_wait(answer: RestAnswer) -> timedelta | None:
    """`retry_after` of the body, in seconds with a fraction; the header is rounded up to a second."""
    return _seconds(answer.field("retry_after"))


def _seconds(value: object) -> timedelta | None:
    try:
        seconds = float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else 0.0
    except ValueError:
        return None
    return timedelta(seconds=seconds) if 0 < seconds < LONGEST.total_seconds() else None
