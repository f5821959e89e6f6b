"""The table that turns Graph's answers into our failures (docs: graph.md#answers). Pure: the time is an argument.

No reason quotes a message of Graph's, which may quote an address. Source:
https://learn.microsoft.com/en-us/graph/errors and https://learn.microsoft.com/en-us/graph/throttling.
"""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta

from domain.jobs.failures import CallState, Failure, Gone, Permanent, Refused, Scope, Throttled, Transient, Unauthorised
from providers.rest_client import RestAnswer
from providers.retry_after import header_wait

PROVIDER = "microsoft"

RATE_WAIT = timedelta(seconds=30)
"""For a 429 that names no time, as the one of the fifth call at once often does: upload is counted per 30 s."""
RECIPIENTS_WAIT = timedelta(hours=1)
"""For a mailbox that has written to as many people as it may in 24 hours, a window that slides."""

UNAUTHENTICATED = 401
FORBIDDEN = 403
NOT_FOUND = 404
REQUEST_TIMEOUT = 408
CONFLICT = 409
ABOUT_THE_REQUEST = frozenset({400, 413})
TOO_MANY_REQUESTS = 429
SERVER_ERROR = 500
UNAVAILABLE = 503

NO_SUCH_ITEM = f"{PROVIDER}.ErrorItemNotFound"
"""The code of a failure that proves that a draft or a message is not there under its id."""
MESSAGE_TOO_LARGE = "ErrorMessageSizeExceeded"
"""The mailbox's own maximum, which is often less than the API's 150 MB."""
TOO_MANY_PEOPLE = frozenset({"ErrorExceededMessageLimit", "ErrorSubmissionQuotaExceeded"})
"""Words for a mailbox that has sent too much. Graph's pages name none; Exchange's own interface has the second."""

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_.]{0,63}")


@dataclass(frozen=True, slots=True)
class CallFacts:
    """Whose mailbox it was about, when, and whether the token came for this very call."""

    mailbox: str
    now: datetime
    is_token_fresh: bool


def failure_of(answer: RestAnswer, facts: CallFacts) -> Failure | None:
    """Our failure for an answer, None for a 2xx."""
    if answer.is_success:
        return None
    return _refused_token(answer, facts) or _limited(answer, facts.now) or _passing(answer) or _permanent(answer)


def throttled(reason: str, wait: timedelta, code: str) -> Throttled:
    """Graph counts by application and mailbox; an org has one mailbox to send from."""
    return Throttled(reason, retry_after=wait, scope=Scope.ORG, provider=PROVIDER, code=f"{PROVIDER}.{code}")


def _refused_token(answer: RestAnswer, facts: CallFacts) -> Failure | None:
    """A kept token may have expired or been revoked: the next attempt gets a new one, whose refusal is final."""
    word = word_of(answer)
    if answer.status == UNAUTHENTICATED and not facts.is_token_fresh:
        return Transient(_reason(answer), code=f"{PROVIDER}.token_refused")
    if answer.status in {UNAUTHENTICATED, FORBIDDEN} and word not in TOO_MANY_PEOPLE:
        return Unauthorised(_reason(answer), account=facts.mailbox, code=_code(answer))
    return None


def _limited(answer: RestAnswer, now: datetime) -> Failure | None:
    """A 503 that names a time is a throttle and was not carried out; a bare one proves nothing."""
    if word_of(answer) in TOO_MANY_PEOPLE:
        return throttled(_reason(answer), RECIPIENTS_WAIT, word_of(answer))
    wait = header_wait(answer.headers.get("retry-after"), now)
    if answer.status == TOO_MANY_REQUESTS:
        return throttled(_reason(answer), wait or RATE_WAIT, word_of(answer) or "http_429")
    if answer.status == UNAVAILABLE and wait is not None:
        return throttled(_reason(answer), wait, word_of(answer) or "http_503")
    return None


def _passing(answer: RestAnswer) -> Failure | None:
    """A gateway's 504 comes after Exchange took the request, too: one such mail arrived four times (docs: graph.md)."""
    if answer.status >= SERVER_ERROR or answer.status == REQUEST_TIMEOUT:
        return Transient(_reason(answer), code=f"{PROVIDER}.http_{answer.status}", call_state=CallState.IN_DOUBT)
    if answer.status == CONFLICT:
        return Transient(_reason(answer), code=_code(answer))
    return None


def _permanent(answer: RestAnswer) -> Failure:
    if answer.status == NOT_FOUND:
        return Gone(_reason(answer), code=_code(answer))
    if answer.status in ABOUT_THE_REQUEST or word_of(answer) == MESSAGE_TOO_LARGE:
        return Refused(_reason(answer), code=_code(answer))
    return Permanent(_reason(answer), code=_code(answer))


def word_of(answer: RestAnswer) -> str:
    """Graph's word for the error, if it looks like one."""
    error = answer.field("error")
    word = error.get("code") if isinstance(error, dict) else None
    return word if isinstance(word, str) and _WORD.fullmatch(word) else ""


def _code(answer: RestAnswer) -> str:
    return f"{PROVIDER}.{word_of(answer) or f'http_{answer.status}'}"


def _reason(answer: RestAnswer) -> str:
    word = word_of(answer)
    return f"{PROVIDER}: status {answer.status}{', ' if word else ''}{word}"
