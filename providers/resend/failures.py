"""What Resend's answers mean (docs: resend.md#answers). Pure: the time is an argument.

The vendor's words (`name`) decide, not the status alone: three quotas share 429, and two meanings share 409. No reason
quotes a message, which may quote an address. Source: https://resend.com/docs/api-reference/errors.
"""

from datetime import datetime, timedelta

from domain.jobs.failures import Failure, Refused, Scope
from providers.answers import HOUR, UNPROVEN, AnswerRow, Now, Request, Us, VendorCall, rest_failure
from providers.rest_client import RestAnswer
from providers.retry_after import day_turn, month_turn

PROVIDER = "resend"

CLOCKS_APART = timedelta(minutes=2)
"""A quota is asked for again so long after it begins anew, because the vendor's clock may be behind ours."""
AFTER_TURN = HOUR
"""A quota that is still used up within this time after it began anew, by our clock, is asked for again soon."""
AGAIN = timedelta(minutes=15)
"""How soon: waiting for the next turn would cost a whole day or month."""


def quota_wait(now: datetime, turn: datetime, begun: datetime) -> timedelta:
    """How long to wait for a quota that began at `begun` and begins anew at `turn`."""
    return AGAIN if now - begun < AFTER_TURN else turn - now + CLOCKS_APART


def _until_day(now: datetime) -> timedelta:
    return quota_wait(now, day_turn(now), day_turn(now) - timedelta(days=1))


def _until_month(now: datetime) -> timedelta:
    return quota_wait(now, month_turn(now), (day_turn(now) - timedelta(days=1)).replace(day=1))


TABLE = (
    # Where the key exists no more, this status is documented with the word for a bad field.
    AnswerRow((400,), Us(), text="api key is invalid"),
    # A firewall's page says nothing about the key.
    AnswerRow((403,), Now(Scope.ORG), wordless=True),
    AnswerRow((401,), Us(), wordless=True, code="unauthorised"),
    # A key that is refused, or a domain that the account may not send from: only the org's owner can mend it.
    AnswerRow((401, 403), Us()),
    AnswerRow((429,), Us(_until_day, Scope.ORG), "daily_quota_exceeded"),
    AnswerRow((429,), Us(_until_month, Scope.ORG), "monthly_quota_exceeded"),
    # The rate is counted per second.
    AnswerRow((429,), Now(Scope.ORG, timedelta(seconds=1))),
    # An earlier request with this key is still at work: whether that one sends is what nobody knows yet.
    AnswerRow((409,), Now(Scope.ORG, in_doubt=True), "concurrent_idempotent_requests"),
    AnswerRow(UNPROVEN, Now(Scope.ORG)),
    AnswerRow((400, 413, 422), Request(Refused)),
)
"""The key is the org's own, and so are its limits."""


def failure_of(answer: RestAnswer, now: datetime, account: str) -> Failure | None:
    """Our failure for an answer, None for a 2xx. `account` names whose key was used."""
    call = VendorCall(PROVIDER, now, account=account)
    return rest_failure(TABLE, answer, (answer.word("name"),), call, answer.word("message"))
