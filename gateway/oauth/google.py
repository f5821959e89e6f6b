"""`/oauth/google/start` and `/oauth/google/callback`: an owner connects a mailbox (docs: google-oauth.md)."""

from http import HTTPStatus
from typing import Annotated
from urllib.parse import urlsplit
from uuid import UUID

import structlog
from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import RedirectResponse

from domain.jobs.failures import Throttled
from domain.mail.consent import (
    ANSWER_WITHIN,
    CALLBACK,
    SIGN_IN,
    START,
    ConsentRefusal,
    RefusedConsent,
    missing_settings,
    refusal_by_google,
)
from gateway.http.resources import Resources, resources_of
from gateway.oauth import connecting
from gateway.oauth.browsers import LinkHolder, LinkUser, ReturnedBrowser, cookie_of
from gateway.oauth.pages import HEADERS, NEW_LINK, PageRefusal, PageRoute, page, start_form
from providers.google.addresses import authorize_url
from providers.google.consent import screen_address
from storage.mail.accounts import consents
from storage.mail.accounts.consents import ConsentRequest, ConsentSecrets
from storage.orgs.secrets.sealing import Sealer

log = structlog.get_logger(__name__)
router = APIRouter(include_in_schema=False, route_class=PageRoute)

LONGEST_CODE = 2000
LOOK_AGAIN_S = 2


@router.get(START)
def show_start(request: Request, asked: LinkHolder, link: Annotated[str, Query()]) -> Response:
    """Say who asks for what; looking at a link does not use it up."""
    _check_set_up(resources_of(request))
    googles = urlsplit(authorize_url(resources_of(request).settings.google_url))
    return page(
        HTTPStatus.OK,
        f"Connect {asked.email}",
        f"{asked.org} asks for access to the mailbox {asked.email}, to read, sort and answer its mail.",
        "Google asks you to sign in and to allow it. Leave every box ticked.",
        form=start_form(link),
        # A browser also applies this to where the form's answer sends it.
        targets=f"'self' {googles.scheme}://{googles.netloc}",
    )


@router.post(START)
def start(request: Request, asked: LinkUser) -> Response:
    """Use the link up, and send the browser to Google."""
    resources = resources_of(request)
    _check_set_up(resources)
    with resources.database.ledger() as tx:
        sent = consents.send(tx, Sealer.of(resources.settings), asked)
    if sent is None:
        raise PageRefusal(HTTPStatus.GONE, "This link was used already, or is too old", NEW_LINK)
    answer = RedirectResponse(_screen(resources, asked, sent), HTTPStatus.SEE_OTHER, HEADERS)
    answer.set_cookie(
        cookie_of(sent.state),
        sent.browser,
        max_age=int(ANSWER_WITHIN.total_seconds()),
        path=CALLBACK,
        secure=resources.settings.public_url.startswith("https:"),
        httponly=True,
        # Google's redirect is a navigation from another site: with `strict` the cookie would not come along.
        samesite="lax",
    )
    return answer


@router.get(CALLBACK)
def come_back(
    request: Request,
    asked: ReturnedBrowser,
    code: Annotated[str, Query(max_length=LONGEST_CODE)] = "",
    error: Annotated[str, Query(max_length=LONGEST_CODE)] = "",
) -> Response:
    """Connect the mailbox, or say plainly why not; the same answer again shows the same page."""
    resources = resources_of(request)
    outcome = _outcome(resources, asked, code, error)
    if outcome is None:
        with resources.database.ledger() as tx:
            asked = consents.by_state(tx, request.query_params["state"]) or asked
        return _standing(asked)
    log.info("consent_answered", request_id=str(asked.request_id), why=getattr(outcome, "why", "connected"))
    return _told(asked, outcome)


def _check_set_up(resources: Resources) -> None:
    """The process that made the link may know settings that this one lacks: a link is not used up in vain."""
    settings = resources.settings
    secret = settings.google_client_secret.get_secret_value()
    missing = missing_settings(settings.public_url, settings.google_client_id, secret)
    if missing:
        log.error("page_failed", code="oauth.not_set_up", reason=f"the gateway lacks {missing}")
        raise PageRefusal(
            HTTPStatus.SERVICE_UNAVAILABLE,
            "No mailbox can be connected here yet",
            f"An operator must set {missing} for the gateway, and start it anew. This link stays good.",
        )


def _outcome(resources: Resources, asked: ConsentRequest, code: str, error: str) -> UUID | RefusedConsent | None:
    if asked.state != "sent" or asked.refused is not None:
        return None
    if not error and code:
        try:
            return connecting.connect(resources, asked, code)
        except Throttled:
            # The code is still good.
            raise PageRefusal(
                HTTPStatus.SERVICE_UNAVAILABLE, "Others are being connected", "Reload this page."
            ) from None
    refused = refusal_by_google(error or "no code")
    with resources.database.ledger() as tx:
        return refused if consents.end(tx, asked, refused) else None


def _standing(asked: ConsentRequest) -> Response:
    """A request that another answer has taken."""
    if asked.refused is not None:
        return _told(asked, asked.refused)
    if asked.state == "connected":
        return _connected(asked)
    return page(HTTPStatus.ACCEPTED, "Connecting", f"{asked.email} is being connected.", again_in_s=LOOK_AGAIN_S)


def _told(asked: ConsentRequest, outcome: UUID | RefusedConsent) -> Response:
    if not isinstance(outcome, RefusedConsent):
        return _connected(asked)
    status = HTTPStatus.BAD_GATEWAY if outcome.why is ConsentRefusal.NO_ANSWER else HTTPStatus.CONFLICT
    return page(status, f"{asked.email} was not connected", outcome.words(), NEW_LINK)


def _connected(asked: ConsentRequest) -> Response:
    return page(
        HTTPStatus.OK,
        f"{asked.email} is connected",
        f"{asked.org} now works on this mailbox. You can close this page.",
        "You can take the access back at any time at https://myaccount.google.com/connections.",
    )


def _screen(resources: Resources, asked: ConsentRequest, sent: ConsentSecrets) -> str:
    settings = resources.settings
    return screen_address(
        authorize_url(settings.google_url),
        client_id=settings.google_client_id,
        redirect_uri=connecting.redirect_uri(resources),
        scopes=(*SIGN_IN, *asked.scopes),
        state=sent.state,
        verifier=sent.verifier,
        nonce=str(asked.request_id),
        email=asked.email,
    )
