"""The table that turns Discord's answers to the bot into our failures (docs: discord.md#answers). Pure."""

from datetime import datetime, timedelta

from domain.jobs.failures import CallState, Failure, Gone, Permanent, Scope, Throttled, Transient
from providers.rest_client import RestAnswer
from providers.retry_after import LONGEST, header_wait

PROVIDER = "discord"

RATE_WAIT = timedelta(minutes=1)
"""For a 429 that names no time."""
KEY_WAIT = timedelta(minutes=15)
"""For a refused token: Discord refuses every call, and bans a caller after 10,000 refusals in ten minutes."""

UNAUTHENTICATED = 401
NOT_FOUND = 404
REQUEST_TIMEOUT = 408
TOO_MANY_REQUESTS = 429
SERVER_ERROR = 500
UNKNOWN_CHANNEL = 10003
UNKNOWN_MESSAGE = 10008
CHANNEL_GONE = "discord.channel_gone"
"""The code of a failure that proves that a channel was deleted."""
_GONE = {UNKNOWN_CHANNEL: CHANNEL_GONE, UNKNOWN_MESSAGE: "discord.message_gone"}


def failure_of(answer: RestAnswer, now: datetime) -> Failure | None:
    """Our failure for an answer, None for a 2xx; no reason quotes the body, which may quote what was sent."""
    status = answer.status
    reason = f"discord: status {status}"
    if answer.is_success:
        return None
    if status == TOO_MANY_REQUESTS:
        wait = worded_wait(answer) or header_wait(answer.headers.get("retry-after"), now) or RATE_WAIT
        return _throttled(reason, wait, "rate_limit", _scope_of(answer))
    if status == UNAUTHENTICATED:
        return _throttled("discord: the bot's token is refused", KEY_WAIT, "unauthorised", Scope.PROVIDER)
    if status >= SERVER_ERROR or status == REQUEST_TIMEOUT:
        return Transient(reason, code=f"discord.http_{status}", call_state=CallState.IN_DOUBT)
    if status == NOT_FOUND:
        number = answer.field("code")
        code = _GONE.get(number, "discord.not_found") if isinstance(number, int) else "discord.not_found"
        return Gone(f"{reason}, {code.removeprefix(f'{PROVIDER}.')}", code=code)
    return Permanent(reason, code=f"discord.http_{status}")


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
    return _throttled("discord: the route's window is used up", wait, "rate_limit", Scope.ORG)


def worded_wait(answer: RestAnswer) -> timedelta | None:
    """`retry_after` of the body, in seconds with a fraction; the header is rounded up to a second."""
    return _seconds(answer.field("retry_after"))


def _seconds(value: object) -> timedelta | None:
    try:
        seconds = float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else 0.0
    except ValueError:
        return None
    return timedelta(seconds=seconds) if 0 < seconds < LONGEST.total_seconds() else None


def _scope_of(answer: RestAnswer) -> Scope:
    """A global limit holds for the bot; any other for a route of one channel, which is one org's."""
    is_global = answer.field("global") is True or answer.headers.get("x-ratelimit-scope") == "global"
    return Scope.PROVIDER if is_global else Scope.ORG


def _throttled(reason: str, wait: timedelta, word: str, scope: Scope) -> Throttled:
    return Throttled(reason, retry_after=wait, scope=scope, provider=PROVIDER, code=f"discord.{word}")
