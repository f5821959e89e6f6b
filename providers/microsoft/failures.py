"""What Graph's answers mean (docs: graph.md#answers). Pure: the time is an argument.

No reason quotes a message of Graph's, which may quote an address. Source:
https://learn.microsoft.com/en-us/graph/errors and https://learn.microsoft.com/en-us/graph/throttling.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from domain.jobs.failures import Failure, Gone, Refused, Scope
from providers.answers import EVERY, HOUR, UNPROVEN, AnswerRow, Now, Request, Us, VendorCall, rest_failure
from providers.rest_client import RestAnswer

PROVIDER = "microsoft"

RATE_WAIT = timedelta(seconds=30)
"""For a 429 that names no time, as the one of the fifth call at once often does: upload is counted per 30 s."""
NO_SUCH_ITEM = f"{PROVIDER}.ErrorItemNotFound"
"""The code of a failure that proves that a draft or a message is not there under its id."""

TOO_MANY_PEOPLE = "ErrorExceededMessageLimit ErrorSubmissionQuotaExceeded"
"""The mailbox has written to as many people as it may in 24 hours, a window that slides. Graph's pages name no word;
Exchange's own interface has the second."""
NO_MAILBOX = (
    "MailboxNotEnabledForRESTAPI MailboxNotSupportedForRESTAPI ErrorNonExistentMailbox ErrorInvalidUser"
    " ErrorAccountDisabled ErrorAccountSuspend ErrorQuotaExceeded Request_ResourceNotFound ResourceNotFound"
)
"""The sender's mailbox is not there, not licensed, disabled, suspended, or full: every mail would be refused."""
MAILBOX_AWAY = (
    "MailboxStoreUnavailable ErrorMailboxStoreUnavailable ErrorMailboxMoveInProgress ErrorMailboxFailover"
    " MailboxInfoStale ErrorServerBusy"
)
"""The sender's mailbox is being moved or repaired."""

OF_THE_MAIL = "ErrorSendAsDenied ErrorMessageSizeExceeded"
"""The mail names a sender for whom the mailbox may not send, or is larger than the mailbox takes, which is often less
than the API's 150 MB. Both come with 403, too."""

TABLE = (
    AnswerRow(EVERY, Request(Refused), OF_THE_MAIL),
    AnswerRow(EVERY, Us(HOUR, Scope.ORG), f"{TOO_MANY_PEOPLE} {NO_MAILBOX}"),
    AnswerRow(EVERY, Now(Scope.ORG, timedelta(minutes=5)), MAILBOX_AWAY),
    AnswerRow((402, 507), Us(HOUR, Scope.ORG)),
    # A proxy's page says nothing about the credentials.
    AnswerRow((403,), Now(Scope.ORG), wordless=True),
    AnswerRow((401, 403), Us()),
    AnswerRow((429,), Now(Scope.ORG, RATE_WAIT)),
    # A gateway's 504 comes after Exchange took the request, too: one such mail arrived four times (docs: graph.md).
    AnswerRow((409, 423, *UNPROVEN), Now(Scope.ORG)),
    AnswerRow((404,), Request(Gone)),
    AnswerRow((400, 413), Request(Refused)),
)
"""Graph counts by application and mailbox; an org has one mailbox to send from."""
WITH_KEPT_TOKEN = (AnswerRow((401,), Now(Scope.ORG), code="token_refused"), *TABLE)
"""A kept token may have expired or been revoked: the next attempt gets a new one, whose refusal is final."""

TOKENS = (
    AnswerRow((429,), Now(Scope.ORG, RATE_WAIT), code="tokens_limit"),
    AnswerRow((404,), Request(Gone), code="no_login_server"),
    AnswerRow(EVERY, Now(Scope.ORG)),
)
"""Of the login server, where it neither gives a token nor refuses the credentials. Nothing was sent."""


@dataclass(frozen=True, slots=True)
class CallFacts:
    """Whose mailbox it was about, when, and whether the token came for this very call."""

    mailbox: str
    now: datetime
    is_token_fresh: bool


def failure_of(answer: RestAnswer, facts: CallFacts) -> Failure | None:
    """Our failure for an answer, None for a 2xx."""
    error = answer.field("error")
    words = (error.get("code"),) if isinstance(error, dict) else ()
    table = TABLE if facts.is_token_fresh else WITH_KEPT_TOKEN
    return rest_failure(table, answer, words, VendorCall(PROVIDER, facts.now, account=facts.mailbox))


def failure_of_tokens(answer: RestAnswer, now: datetime) -> Failure | None:
    """Our failure for an answer of the login server that is neither a token nor a refusal of the credentials."""
    return rest_failure(TOKENS, answer, (), VendorCall(PROVIDER, now, f"{PROVIDER}: no token", writes=False))
