"""What the answers of FCM and of its token endpoint mean (docs: fcm.md#answers). Pure: the time is an argument.

Source: https://firebase.google.com/docs/reference/fcm/rest/v1/ErrorCode. No reason quotes a message.
"""

from datetime import datetime, timedelta

from domain.jobs.failures import Failure, Refused, Scope
from providers.answers import EVERY, UNPROVEN, AnswerRow, Now, Request, Us, VendorCall, rest_failure
from providers.rest_client import RestAnswer

PROVIDER = "fcm"

OF_ONE_MESSAGE = "sender_id_mismatch third_party_auth_error"
"""They come with a status of 401 or 403, and speak of the device's own platform or sender, not of our credentials."""
BAD_TOKEN = "registration token is not a valid fcm registration token"  # noqa: S105 - words of a message

LATER = (
    # Quotas are counted per minute.
    AnswerRow((429,), Now(Scope.ORG_PROVIDER, timedelta(minutes=1))),
    AnswerRow(UNPROVEN, Now(Scope.ORG_PROVIDER)),
    # A proxy's page: Google's own refusals have words.
    AnswerRow((401, 403), Now(Scope.ORG_PROVIDER), wordless=True),
)
OF_MESSAGE = (
    AnswerRow(EVERY, Request(Refused), "unregistered"),
    AnswerRow((400,), Request(Refused), text=BAD_TOKEN, code="bad_token"),
    AnswerRow((401, 403), Request(), OF_ONE_MESSAGE),
)
"""Only what names the token says that the device is gone."""
TABLE = (*OF_MESSAGE, *LATER, AnswerRow((401, 403), Us()), AnswerRow((400,), Request(Refused)))
WITH_KEPT_TOKEN = (*OF_MESSAGE, AnswerRow((401,), Now(Scope.ORG_PROVIDER), code="token_refused"), *TABLE)
"""A kept token may have been revoked: the next attempt gets a new one, whose refusal is final."""

TOKENS = (
    AnswerRow(EVERY, Now(Scope.ORG_PROVIDER), "temporarily_unavailable server_error internal_failure"),
    AnswerRow(EVERY, Now(Scope.ORG_PROVIDER, timedelta(minutes=1)), "slow_down rate_limit_exceeded"),
    *LATER,
    AnswerRow(EVERY, Us(), code="token_refused"),
)
"""Of the endpoint that gives tokens. Whatever its answer is, no message was sent."""


def failure_of(answer: RestAnswer, now: datetime, *, is_token_fresh: bool) -> Failure | None:
    """Our failure for an answer, None for a 2xx. `is_token_fresh` is whether the token came for this very call."""
    found = answer.field("error")
    error = found if isinstance(found, dict) else {}
    details = error.get("details")
    # FCM's own word is among the details; the API has another.
    items = [one.get("errorCode") for one in details if isinstance(one, dict)] if isinstance(details, list) else []
    words = [word.lower() for word in (*items, error.get("status")) if isinstance(word, str)]
    table = TABLE if is_token_fresh else WITH_KEPT_TOKEN
    return rest_failure(table, answer, words, VendorCall(PROVIDER, now), error.get("message"))


def failure_of_tokens(answer: RestAnswer, now: datetime) -> Failure | None:
    """Our failure for an answer of the token endpoint, None for a 2xx."""
    call = VendorCall(PROVIDER, now, f"{PROVIDER}: no token", writes=False)
    return rest_failure(TOKENS, answer, (answer.word("error"),), call)
