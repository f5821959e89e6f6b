"""The way to the provider and back: a browser is sent there, comes back with a code, and its person has a session."""

from http import HTTPStatus
from typing import Annotated

import structlog
from fastapi import APIRouter, HTTPException, Query, Request, Response
from fastapi.responses import RedirectResponse

from domain.jobs.failures import Failure, Forbidden, Gone, Permanent, Throttled, Transient
from domain.jobs.job import SYSTEM_ORG
from domain.orgs.access.operators import (
    PROVIDER_PROOF,
    PROVIDER_RETURN,
    PROVIDER_START,
    OperatorIdentity,
    cookie_name,
)
from gateway.console.sign_in import (
    Next,
    Stranger,
    ask_for_proof,
    ask_for_sign_in,
    begin,
    count_attempt,
    network_of,
    operator_of,
)
from gateway.console.sign_in_pages import enter
from gateway.console.visitors import Signed, Visitor, call_as, find_visitor
from gateway.http.resources import resources_of
from gateway.oauth.pages import HEADERS
from gateway.oidc.attempts import OidcAttempt, Purpose
from gateway.oidc.identity_provider import IdentityProvider
from observability import logs
from operations.orgs import sign_in as entering

log = structlog.get_logger(__name__)
router = APIRouter(include_in_schema=False)

ANSWER_WITHIN_S = 900
"""From our page to the end of the provider's, with its password and its second factor."""
OTHER_BROWSER = "The answer does not belong to this browser, or is too old. Begin once more, with cookies allowed."
DENIED = "The provider has not let you in."
NOBODY = "No operator of the console has the address and the account that the provider has named."
NOT_PROVEN = "The provider has not asked you anew who you are, or has asked somebody else."
NO_ANSWER = "The provider does not answer. Try again in half a minute."
BROKEN = "The sign-in through the provider is set up wrongly: the gateway's log says how."
Word = Annotated[str, Query(max_length=2000)]


@router.get(PROVIDER_START, dependencies=[Stranger])
def start(request: Request, after: Next = "") -> Response:
    """Send a browser to the provider, to sign in."""
    return _send(request, "sign-in", after, None)


@router.get(PROVIDER_PROOF)
def start_proof(request: Request, found: Signed, after: Next = "") -> Response:
    """Send a browser to the provider, which is to ask once more who it is."""
    return _send(request, "proof", after, found)


@router.get(PROVIDER_RETURN, dependencies=[Stranger])
def come_back(
    request: Request,
    state: Annotated[str, Query(max_length=100)] = "",
    code: Word = "",
    error: Word = "",
    iss: Word = "",
) -> Response:
    """Begin a session of whoever has come back with the state of this browser, or renew the proof of the one it has."""
    provider, attempt = _provider(request), OidcAttempt.read(request.cookies.get(_cookie(request)[0], ""))
    purpose = None if attempt is None else attempt.purpose_of(state)
    if attempt is None or purpose is None:
        log.warning("sign_in_refused", code="oidc.state")
        return ask_for_sign_in(request, HTTPStatus.FORBIDDEN, {}, OTHER_BROWSER)
    signed = find_visitor(request) if purpose == "proof" else None
    try:
        if error or not code or iss not in {"", provider.issuer}:
            raise Forbidden("the provider sent the browser back without a code of its own", code="oidc.denied")
        count_attempt(request, f"provider {network_of(request)}")
        with resources_of(request).entrances.hold(SYSTEM_ORG):
            identity = provider.identify(attempt, purpose, code)
        answer = enter(request, _secret(request, identity, signed), attempt.after)
    except Failure as failure:
        answer = _refused(request, attempt.after, signed, failure)
    name, is_secure = _cookie(request)
    answer.delete_cookie(name, path="/", secure=is_secure, httponly=True, samesite="lax")
    return answer


def _send(request: Request, purpose: Purpose, after: str, signed: Visitor | None) -> Response:
    provider, attempt = _provider(request), OidcAttempt.begin(after)
    try:
        with resources_of(request).entrances.hold(SYSTEM_ORG):
            answer = RedirectResponse(provider.screen(attempt, purpose), HTTPStatus.SEE_OTHER, HEADERS)
    except Failure as failure:
        return _refused(request, after, signed, failure)
    name, is_secure = _cookie(request)
    answer.set_cookie(
        name, attempt.cookie, max_age=ANSWER_WITHIN_S, path="/", secure=is_secure, httponly=True,
        # The provider's redirect is a navigation from another site: with `strict` the cookie would not come along.
        samesite="lax",
    )  # fmt: skip
    return answer


def _secret(request: Request, identity: OperatorIdentity, signed: Visitor | None) -> str:
    """The cookie of the session; raises `Gone` for somebody whom the database does not let in."""
    if signed is not None:
        return entering.prove(call_as(request, signed.operator_id), signed.session_id, identity)
    found = operator_of(request, identity.email)
    if found is None:
        raise Gone("there is no operator of that address")
    return begin(request, found, identity)


def _refused(request: Request, after: str, signed: Visitor | None, failure: Failure) -> Response:
    """The page from which to begin once more, with as much of the reason as concerns a stranger."""
    note = log.error if isinstance(failure, Permanent) and not isinstance(failure, Gone | Forbidden) else log.warning
    note("sign_in_refused", code=failure.code, reason=logs.sanitise(failure))
    match failure:
        case Throttled():
            status, words = HTTPStatus.TOO_MANY_REQUESTS, failure.reason
        case Transient():
            status, words = HTTPStatus.SERVICE_UNAVAILABLE, NO_ANSWER
        case Gone():
            status, words = HTTPStatus.FORBIDDEN, NOBODY if signed is None else NOT_PROVEN
        case Forbidden():
            status, words = HTTPStatus.FORBIDDEN, DENIED
        case _:
            status, words = HTTPStatus.SERVICE_UNAVAILABLE, BROKEN
    if signed is not None:
        return ask_for_proof(request, signed, status, after, words)
    return ask_for_sign_in(request, status, {"next": after}, words)


def _provider(request: Request) -> IdentityProvider:
    found = resources_of(request).identities
    if found is None:
        raise HTTPException(HTTPStatus.NOT_FOUND)
    return found


def _cookie(request: Request) -> tuple[str, bool]:
    """The name of an attempt's cookie, and whether it goes over TLS only."""
    name, is_secure = cookie_name(resources_of(request).settings.public_url)
    return f"{name}-attempt", is_secure
