"""The table that turns FCM's answers into our failures (docs: fcm.md#answers). Pure: the time is an argument.

Source: https://firebase.google.com/docs/reference/fcm/rest/v1/ErrorCode. No reason quotes a message.
"""

from datetime import datetime, timedelta
from typing import Any

from domain.jobs.failures import CallState, CredentialsLost, Failure, Permanent, Refused, Scope, Throttled, Transient
from providers.rest_client import RestAnswer
from providers.retry_after import header_wait

PROVIDER = "fcm"

RATE_WAIT = timedelta(minutes=1)
"""For a 429 that names no time: quotas are counted per minute."""
BAD_REQUEST = 400
UNAUTHENTICATED = 401
FORBIDDEN = 403
NOT_FOUND = 404
REQUEST_TIMEOUT = 408
TOO_MANY_REQUESTS = 429
SERVER_ERROR = 500

UNREGISTERED = "UNREGISTERED"
OF_ONE_MESSAGE = frozenset({"fcm.sender_id_mismatch", "fcm.third_party_auth_error"})
"""Failures with a status of 401 or 403 that speak of the device's own platform or sender, not of our credentials."""
BAD_TOKEN = "registration token is not a valid fcm registration token"  # noqa: S105 - words of a message


def failure_of(answer: RestAnswer, now: datetime) -> Failure | None:
    """Our failure for an answer, None for a 2xx. Only what names the token tells that the device is gone."""
    if answer.is_success:
        return None
    word = _error_code(answer)
    reason = f"{PROVIDER}: status {answer.status}{', ' if word else ''}{word.lower()}"
    if word == UNREGISTERED:
        return Refused(reason, code=f"{PROVIDER}.unregistered")
    if answer.status == BAD_REQUEST and BAD_TOKEN in str(_error(answer).get("message", "")).lower():
        return Refused(reason, code=f"{PROVIDER}.bad_token")
    return _other(answer, now, reason, f"{PROVIDER}.{word.lower()}" if word else f"{PROVIDER}.http_{answer.status}")


def _other(answer: RestAnswer, now: datetime, reason: str, code: str) -> Failure:
    """What says nothing of the device."""
    if answer.status in {UNAUTHENTICATED, FORBIDDEN} and code not in OF_ONE_MESSAGE:
        return CredentialsLost(reason, provider=PROVIDER, code=code)
    if answer.status == TOO_MANY_REQUESTS:
        wait = header_wait(answer.headers.get("retry-after"), now) or RATE_WAIT
        return Throttled(reason, retry_after=wait, scope=Scope.ORG_PROVIDER, provider=PROVIDER, code=code)
    if answer.status >= SERVER_ERROR or answer.status == REQUEST_TIMEOUT:
        return Transient(reason, code=code, call_state=CallState.IN_DOUBT)
    return Refused(reason, code=code) if answer.status == BAD_REQUEST else Permanent(reason, code=code)


def _error(answer: RestAnswer) -> dict[str, Any]:
    found = answer.field("error")
    return found if isinstance(found, dict) else {}


def _error_code(answer: RestAnswer) -> str:
    """FCM's own word among the details, else the API's status word; empty when it is no plain word."""
    error = _error(answer)
    details = error.get("details")
    words = [one.get("errorCode") for one in details if isinstance(one, dict)] if isinstance(details, list) else []
    word = next((one for one in words if isinstance(one, str)), error.get("status"))
    return word if isinstance(word, str) and word.isascii() and word.replace("_", "").isalpha() else ""
