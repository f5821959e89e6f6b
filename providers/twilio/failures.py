"""What Twilio's answers mean (docs: twilio.md#answers). The vendor's number (`code`) decides before the status."""

from datetime import datetime, timedelta

from domain.jobs.failures import Failure, Refused, Scope
from providers.answers import EVERY, HOUR, UNPROVEN, AnswerRow, Now, Request, Us, VendorCall, rest_failure
from providers.rest_client import RestAnswer

PROVIDER = "twilio"

OF_THE_ACCOUNT = "10001 20003 20005 20006 20008 20403 20404 30002 90010"
"""The account is unknown, refused, suspended or closed."""
OF_THE_SENDER = "21212 21603 21659 21660 21701 21702 21703 21704 21705 30127 63007"
"""The number that messages come from is not the account's own, or the messaging service is none or has no senders."""
DAYS_LIMIT = "30454 63038"
"""The account has sent as many messages as it may within 24 hours, a window that slides."""
QUEUE_FULL = "21611 21730 30001"
"""The sender has ten hours of messages queued, or the vendor is at maintenance."""
TOO_FAST = "14107 20429 63017 63018"

TABLE = (
    # Only the org can mend these, and every message would meet them.
    AnswerRow(EVERY, Us(), f"{OF_THE_ACCOUNT} {OF_THE_SENDER}"),
    AnswerRow((401, 404), Us()),
    AnswerRow(EVERY, Us(HOUR, Scope.ORG_PROVIDER), DAYS_LIMIT),
    AnswerRow(EVERY, Now(Scope.ORG_PROVIDER, timedelta(minutes=10)), QUEUE_FULL),
    AnswerRow(EVERY, Now(Scope.ORG_PROVIDER, timedelta(seconds=1)), TOO_FAST),
    AnswerRow((429,), Now(Scope.ORG_PROVIDER, timedelta(seconds=1))),
    # Twilio says of 20500 that a repeat may send twice (docs: twilio.md#once).
    AnswerRow(UNPROVEN, Now(Scope.ORG_PROVIDER)),
    AnswerRow((403,), Request()),
    AnswerRow(EVERY, Request(Refused)),
)


def failure_of(answer: RestAnswer, now: datetime) -> Failure | None:
    """Our failure for an answer, None for a 2xx. No reason quotes a message, which may quote a number of a person's."""
    number = answer.field("code")
    return rest_failure(TABLE, answer, (str(number),) if isinstance(number, int) else (), VendorCall(PROVIDER, now))
