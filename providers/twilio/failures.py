"""The table that turns Twilio's answers into our failures (docs: twilio.md#answers). Pure: the time is an argument.

The vendor's number (`code`) decides before the status. No reason quotes a message, which may quote a number of a
person's. Source: https://www.twilio.com/docs/api/errors.
"""

from datetime import datetime, timedelta

from domain.jobs.failures import CallState, CredentialsLost, Failure, Permanent, Refused, Scope, Throttled, Transient
from providers.rest_client import RestAnswer
from providers.retry_after import header_wait

PROVIDER = "twilio"

RATE_WAIT = timedelta(seconds=1)
"""For a 429 that names no time."""
UNAUTHENTICATED = 401
FORBIDDEN = 403
NOT_FOUND = 404
REQUEST_TIMEOUT = 408
TOO_MANY_REQUESTS = 429
SERVER_ERROR = 500

OF_THE_ACCOUNT = frozenset({20003, 20005, 20404, 21212, 21606, 21659, 21660})
"""The account is unknown, refused or closed, or the number that messages come from is not its own. Only the org can
mend that, and every message would meet it."""


def failure_of(answer: RestAnswer, now: datetime) -> Failure | None:
    """Our failure for an answer, None for a 2xx."""
    if answer.is_success:
        return None
    number = answer.field("code")
    code = f"{PROVIDER}.{number}" if isinstance(number, int) else f"{PROVIDER}.http_{answer.status}"
    reason = f"{PROVIDER}: status {answer.status}, {code.removeprefix(f'{PROVIDER}.')}"
    if answer.status in {UNAUTHENTICATED, NOT_FOUND} or number in OF_THE_ACCOUNT:
        return CredentialsLost(reason, provider=PROVIDER, code=code)
    if answer.status == TOO_MANY_REQUESTS:
        wait = header_wait(answer.headers.get("retry-after"), now) or RATE_WAIT
        return Throttled(reason, retry_after=wait, scope=Scope.ORG_PROVIDER, provider=PROVIDER, code=code)
    if answer.status >= SERVER_ERROR or answer.status == REQUEST_TIMEOUT:
        # Twilio says of 20500 that a repeat may send twice (docs: twilio.md#once).
        return Transient(reason, code=code, call_state=CallState.IN_DOUBT)
    return Permanent(reason, code=code) if answer.status == FORBIDDEN else Refused(reason, code=code)
