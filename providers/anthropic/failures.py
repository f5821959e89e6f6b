"""What the anthropic package's errors mean (docs: anthropic.md#errors). Pure: the time is an argument."""

import re
from dataclasses import replace
from datetime import datetime, timedelta

import httpx2

from domain.jobs.failures import Failure, Refused, Scope
from domain.models.money import PROVIDER
from observability.on_demand import on_demand
from providers.answers import EVERY, HOUR, UNPROVEN, AnswerRow, ErrorAnswer, Now, Request, Table, Us, VendorCall
from providers.answers import failure_of as failure_by
from providers.rest_client import RestAnswer
from providers.retry_after import month_turn

KEY_WAIT = timedelta(minutes=15)
"""For a key that is refused or may not use the model, and for a model that does not exist: every job would be refused.
A new key or model comes with new workers; jobs look again by themselves."""

SPEND_LIMITS = "enforced_spend_limit_reached contract_spend_limit_reached linked_organization_spend_limit_reached"
"""These last until the month turns, although they look like a rate limit."""
OUR_ACCOUNT = (
    "credit_balance_too_low linked_organization_billing_unavailable organization_on_hold cmek_key_disabled"
    " organization_type_not_supported parent_organization_required cmek_key_network_blocked"
)
"""Codes that speak of our organization's credit, state or keys, whatever the status."""
DISABLED = ("this organization has been disabled", "your organization has been disabled")

OURS = (
    AnswerRow(EVERY, Us(lambda now: month_turn(now) - now), SPEND_LIMITS, code="spend_limit"),
    AnswerRow(EVERY, Us(HOUR), OUR_ACCOUNT),
    # These have the type of a bad request; their words alone tell them apart (docs: anthropic.md#spend-limits).
    AnswerRow(range(400, 500), Us(HOUR), begins=("you have reached your specified",), code="spend_limit"),
    AnswerRow(range(400, 500), Us(HOUR), begins=("your credit balance is too low",), code="credit_balance_too_low"),
    AnswerRow(range(400, 500), Us(HOUR), begins=DISABLED, code="organization_disabled"),
    AnswerRow((402,), Us(HOUR), code="payment_required"),
    AnswerRow((401,), Us(KEY_WAIT), code="unauthorised"),
)
OF_MODEL = (
    # By the error's own type: a firewall before the API also answers 403, and what one mail caused must park nobody.
    AnswerRow(EVERY, Us(KEY_WAIT), "permission_error", code="unauthorised"),
    AnswerRow(EVERY, Us(KEY_WAIT), "not_found_error", code="no_such_model"),
)


def _table(scope: Scope, of_model: Table) -> Table:
    """The lines for a model whose limits concern `scope`."""
    return (
        *OURS,
        AnswerRow((429,), Now(scope, timedelta(minutes=1)), code="rate_limit"),
        AnswerRow((503, 529), Now(scope, in_doubt=True)),
        # One request may ask for more than the vendor can do in time; other orgs' requests are no worse for that.
        AnswerRow((409, *UNPROVEN), Now(Scope.ORG_PROVIDER, in_doubt=True)),
        # The vendor has read the request and will not have it: its content, its size. Other 4xx, as a firewall's or a
        # proxy's, say nothing about the request.
        AnswerRow((400, 413, 422), Request(Refused)),
        *of_model,
    )


OF_INSTALLATION = _table(Scope.PROVIDER, OF_MODEL)
OF_PROFILE = _table(Scope.ORG_PROVIDER, tuple(replace(row, meaning=Request()) for row in OF_MODEL))
"""A model that an agent's profile names may be wrong, or at its own limit, and parks no other org's job; a model of the
settings parks all."""

WITHOUT_KEY = (AnswerRow((0,), Us(KEY_WAIT), code="no_key"),)

REQUEST = httpx2.Request("POST", "https://api.anthropic.com")
"""What the package's errors want to know beside the answer."""

_MODEL = re.compile(r"[\w.:@-]{1,100}")
_REQUEST_ID = re.compile(r"\w{1,64}")


def off(now: datetime) -> Failure:
    """Our failure where no key is set: as for one that is refused, jobs wait, and nobody is called."""
    unset = VendorCall(PROVIDER, now, "messages", detail=", POSTROOM_ANTHROPIC_API_KEY is not set")
    return failure_by(WITHOUT_KEY, ErrorAnswer(0), unset)


def failure_of(refusal: RestAnswer, now: datetime, model: str, *, of_installation: bool) -> Failure:
    """Our failure for an answer that is an error; pure.

    `of_installation` is whether the settings name the model.
    """
    # The package's own class, which knows where the vendor says what. Only a process that is refused loads it.
    read = on_demand("anthropic:APIStatusError")
    error = read("", response=httpx2.Response(refusal.status, request=REQUEST), body=refusal.document)
    words, header = (error.error_code, error.type), refusal.headers.get("retry-after")
    answer = ErrorAnswer.read(refusal.status, words, error.api_message, header, now)
    is_about_model = any(row.names_of(answer) for row in OF_MODEL)
    named = f", model {model if _MODEL.fullmatch(model) else 'unknown'}" if is_about_model else ""
    given_id = refusal.headers.get("request-id", "")
    request_id = given_id if _REQUEST_ID.fullmatch(given_id) else "unknown"
    call = VendorCall(PROVIDER, now, "messages", detail=f"{named}, request {request_id}")
    return failure_by(OF_INSTALLATION if of_installation else OF_PROFILE, answer, call)
