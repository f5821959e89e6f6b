"""The table that turns the anthropic package's errors into our failures (docs: anthropic.md#errors).

Pure: the time is an argument. No reason carries the vendor's text, which may quote the prompt.
"""

import re
from datetime import datetime, timedelta

import httpx2
from anthropic import APIConnectionError, APIStatusError, APITimeoutError

from domain.jobs.failures import CallState, Failure, Permanent, Refused, Scope, Throttled, Transient
from domain.scheduling.money import PROVIDER
from providers.retry_after import header_wait, month_turn

RATE_WAIT = timedelta(minutes=1)
"""For a 429 that names no time: rate limits are per minute."""
PAYMENT_WAIT = timedelta(hours=1)
"""For a 402 without a code: an operator may mend it any time."""

KEY_WAIT = timedelta(minutes=15)
"""For a key that is refused or may not use the model, and for a model that does not exist: every job would be refused.
A new key or model comes with new workers; jobs look again by themselves."""

MISCONFIGURED = {"permission_error": "unauthorised", "not_found_error": "no_such_model"}
"""By the error's own type. A firewall before the API also answers 403, and a refusal that one mail caused must not park
the provider."""

ABOUT_THE_REQUEST = frozenset({400, 413, 422})
"""The vendor has read the request and will not have it: its content, its size. Other 4xx, as a firewall's or a proxy's,
say nothing about the request."""

UNAUTHENTICATED = 401
PAYMENT_REQUIRED = 402
TOO_MANY_REQUESTS = 429
PASSING = frozenset({408, 409})
SERVER_ERROR = 500

SPEND_LIMITS = frozenset(
    {"enforced_spend_limit_reached", "contract_spend_limit_reached", "linked_organization_spend_limit_reached"}
)
"""These last until the month turns, although they look like a rate limit."""

_WORD = re.compile(r"[a-z][a-z_]{0,63}")
_MODEL = re.compile(r"[\w.:@-]{1,100}")


def failure_of(
    error: APIStatusError | APIConnectionError, now: datetime, model: str, *, of_installation: bool
) -> Failure:
    """Our failure for an answer that is an error, or for the lack of an answer; pure.

    `of_installation` is whether the settings name the model: a model that an agent's profile names may be wrong, and
    parks no other job.
    """
    if isinstance(error, APIConnectionError):
        return _lost(error)
    return (
        _spent(error, now)
        or _misconfigured(error, model, of_installation=of_installation)
        or _limited(error, now)
        or _passing(error, now)
        or _permanent(error)
    )


def unreadable(status: int) -> Failure:
    """For a success whose body is not the documented one; it is billed, and its usage is lost."""
    return Transient(
        f"messages: status {status}, unreadable answer", code=_code("unreadable"), call_state=CallState.IN_DOUBT
    )


def _spent(error: APIStatusError, now: datetime) -> Failure | None:
    if error.error_code in SPEND_LIMITS:
        return _throttled(error, "spend_limit", month_turn(now) - now)
    if error.status_code == PAYMENT_REQUIRED:
        return _throttled(error, "payment_required", PAYMENT_WAIT)
    return None


def _misconfigured(error: APIStatusError, model: str, *, of_installation: bool) -> Failure | None:
    if error.status_code == UNAUTHENTICATED:
        return _throttled(error, "unauthorised", KEY_WAIT)
    word = MISCONFIGURED.get(error.type or "")
    if word is None:
        return None
    if not of_installation:
        return Permanent(_reason(error, model), code=_code(word))
    return _throttled(error, word, KEY_WAIT, model)


def _limited(error: APIStatusError, now: datetime) -> Failure | None:
    if error.status_code != TOO_MANY_REQUESTS:
        return None
    return _throttled(error, "rate_limit", _asked_wait(error, now) or RATE_WAIT)


def _passing(error: APIStatusError, now: datetime) -> Failure | None:
    if error.status_code < SERVER_ERROR and error.status_code not in PASSING:
        return None
    wait = _asked_wait(error, now)
    if wait is not None:
        return _throttled(error, _word(error), wait)
    return Transient(_reason(error), code=_code(_word(error)), call_state=CallState.IN_DOUBT)


def _permanent(error: APIStatusError) -> Failure:
    kind = Refused if error.status_code in ABOUT_THE_REQUEST else Permanent
    return kind(_reason(error), code=_code(_word(error)))


def _lost(error: APIConnectionError) -> Failure:
    unreached = isinstance(error.__cause__, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.PoolTimeout)
    call_state = CallState.NOT_DONE if unreached else CallState.IN_DOUBT
    word = "unreachable" if unreached else "timeout" if isinstance(error, APITimeoutError) else "connection_lost"
    return Transient(f"messages: {word}", code=_code(word), call_state=call_state)


def _throttled(error: APIStatusError, word: str, wait: timedelta, model: str | None = None) -> Throttled:
    return Throttled(_reason(error, model), retry_after=wait, scope=Scope.PROVIDER, provider=PROVIDER, code=_code(word))


def _asked_wait(error: APIStatusError, now: datetime) -> timedelta | None:
    return header_wait(error.response.headers.get("retry-after"), now)


def _reason(error: APIStatusError, model: str | None = None) -> str:
    """For operators; with the model where it may be the cause."""
    asked = "" if model is None else f"model {model if _MODEL.fullmatch(model) else 'unknown'}, "
    return f"messages: status {error.status_code}, {_word(error)}, {asked}request {_tidy(error.request_id)}"


def _word(error: APIStatusError) -> str:
    """The vendor's most exact word for the error, if it looks like one."""
    words = (error.error_code, error.type)
    return next((word for word in words if word and _WORD.fullmatch(word)), f"http_{error.status_code}")


def _tidy(request_id: str | None) -> str:
    return request_id if request_id and re.fullmatch(r"\w{1,64}", request_id) else "unknown"


def _code(word: str) -> str:
    return f"{PROVIDER}.{word}"
