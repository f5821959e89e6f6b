"""The table that turns Resend's answers into our failures (docs: resend.md#answers). Pure: the time is an argument.

The vendor's words (`name`) decide, not the status alone: three quotas share 429, and two meanings share 409. No reason
quotes a message, which may quote an address. Source: https://resend.com/docs/api-reference/errors.
"""

import re
from datetime import UTC, datetime, timedelta

from domain.jobs.failures import CallState, Failure, Permanent, Refused, Scope, Throttled, Transient, Unauthorised
from providers.rest_client import RestAnswer
from providers.retry_after import day_turn, header_wait, month_turn

PROVIDER = "resend"

RATE_WAIT = timedelta(seconds=1)
"""For a 429 that names no time: the rate is counted per second."""
CLOCKS_APART = timedelta(minutes=2)
"""A quota is asked for again so long after it begins anew, because the vendor's clock may be behind ours."""
AFTER_TURN = timedelta(hours=1)
"""A quota that is still used up within this time after it began anew, by our clock, is asked for again soon."""
AGAIN = timedelta(minutes=15)
"""How soon: waiting for the next turn would cost a whole day or month."""

BAD_REQUEST = 400
UNAUTHENTICATED = 401
FORBIDDEN = 403
REQUEST_TIMEOUT = 408
CONFLICT = 409
TOO_MANY_REQUESTS = 429
SERVER_ERROR = 500
ABOUT_THE_REQUEST = frozenset({400, 413, 422})

DAY, MONTH = "daily_quota_exceeded", "monthly_quota_exceeded"
CONCURRENT = "concurrent_idempotent_requests"

_WORD = re.compile(r"[a-z][a-z_]{0,63}")


def failure_of(answer: RestAnswer, now: datetime, account: str) -> Failure | None:
    """Our failure for an answer, None for a 2xx. `account` names whose key was used."""
    if answer.is_success:
        return None
    return (
        _revoked(answer, account)
        or _limited(answer, now)
        or _conflicting(answer)
        or _passing(answer, now)
        or _permanent(answer)
    )


def _revoked(answer: RestAnswer, account: str) -> Failure | None:
    """A key that is refused, or a domain that this account may not send from: only the org's owner can mend it.

    Where the key exists no more, one status is documented with `validation_error`, the word for a bad field, so the
    message decides there. A firewall answers 403 without any word, and says nothing about the key.
    """
    word = _name(answer)
    is_about_the_key = answer.status == BAD_REQUEST and "api key is invalid" in answer.word("message").lower()
    if answer.status == UNAUTHENTICATED or is_about_the_key or (answer.status == FORBIDDEN and word):
        return Unauthorised(_reason(answer), account=account, code=_code(word or "unauthorised"))
    return None


def _limited(answer: RestAnswer, now: datetime) -> Failure | None:
    if answer.status != TOO_MANY_REQUESTS:
        return None
    word = _name(answer)
    if word == DAY:
        return _throttled(answer, quota_wait(now, day_turn(now), day_turn(now) - timedelta(days=1)))
    if word == MONTH:
        begun = now.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
        return _throttled(answer, quota_wait(now, month_turn(now), begun))
    return _throttled(answer, header_wait(answer.headers.get("retry-after"), now) or RATE_WAIT)


def quota_wait(now: datetime, turn: datetime, begun: datetime) -> timedelta:
    """How long to wait for a quota that began at `begun` and begins anew at `turn`."""
    return AGAIN if now - begun < AFTER_TURN else turn - now + CLOCKS_APART


def _conflicting(answer: RestAnswer) -> Failure | None:
    if answer.status != CONFLICT:
        return None
    if _name(answer) == CONCURRENT:
        # An earlier request with this key is still at work: whether that one sends is what nobody knows yet.
        return Transient(_reason(answer), code=_code(CONCURRENT), call_state=CallState.IN_DOUBT)
    return Permanent(_reason(answer), code=_code(_name(answer) or "http_409"))


def _passing(answer: RestAnswer, now: datetime) -> Failure | None:
    if answer.status == FORBIDDEN:
        return Transient(_reason(answer), code=_code("http_403"))
    if answer.status < SERVER_ERROR and answer.status != REQUEST_TIMEOUT:
        return None
    wait = header_wait(answer.headers.get("retry-after"), now)
    if wait:
        return _throttled(answer, wait)
    return Transient(_reason(answer), code=_code(f"http_{answer.status}"), call_state=CallState.IN_DOUBT)


def _permanent(answer: RestAnswer) -> Failure:
    kind = Refused if answer.status in ABOUT_THE_REQUEST else Permanent
    return kind(_reason(answer), code=_code(_name(answer) or f"http_{answer.status}"))


def _throttled(answer: RestAnswer, wait: timedelta) -> Throttled:
    """The key is the org's own, and so is its quota."""
    code = _code(_name(answer) or f"http_{answer.status}")
    return Throttled(_reason(answer), retry_after=wait, scope=Scope.ORG, provider=PROVIDER, code=code)


def _reason(answer: RestAnswer) -> str:
    word = _name(answer)
    return f"{PROVIDER}: status {answer.status}{', ' if word else ''}{word}"


def _name(answer: RestAnswer) -> str:
    """The vendor's word for the error, if it looks like one."""
    word = answer.word("name")
    return word if _WORD.fullmatch(word) else ""


def _code(word: str) -> str:
    return f"{PROVIDER}.{word}"
