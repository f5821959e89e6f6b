"""Which browser is let in: one with a link that was not used, and the one that was sent to Google and has come back."""

from http import HTTPStatus
from typing import Annotated

import structlog
from fastapi import Depends, Query, Request

from gateway.http.bodies import form_fields, read_body
from gateway.http.org_slots import in_slot_of_org
from gateway.http.resources import resources_of
from gateway.oauth.pages import NEW_LINK, PageRefusal
from storage.mail.accounts import consents
from storage.mail.accounts.consents import ConsentRequest

log = structlog.get_logger(__name__)

LONGEST_FORM = 4096
FORM_WITHIN_S = 10.0
COOKIE = "postroom_consent_"


def cookie_of(state: str) -> str:
    """The cookie of one request: two tabs of a browser do not disturb each other."""
    return COOKIE + consents.digest(state).hex()[:16]


def link_holder(request: Request, link: Annotated[str, Query()] = "") -> ConsentRequest:
    """Whoever opens a link that can still be used; it is not used up by looking."""
    return _by_link(request, link)


async def form_link(request: Request) -> str:
    """The link that the page's button sends; a form of another site is refused."""
    if request.headers.get("sec-fetch-site", "same-origin") != "same-origin":
        raise PageRefusal(HTTPStatus.FORBIDDEN, "This page was not opened from its link", NEW_LINK)
    body = await read_body(request, LONGEST_FORM, LONGEST_FORM, within_s=FORM_WITHIN_S)
    return form_fields(body).get("link", "")


def link_user(request: Request, link: Annotated[str, Depends(form_link)]) -> ConsentRequest:
    """Whoever pressed the button of a link that can still be used."""
    return _by_link(request, link)


def returned_browser(request: Request, state: Annotated[str, Query()] = "") -> ConsentRequest:
    """The browser that was sent to Google with this state; who sits at another may not know what they consent to."""
    with resources_of(request).database.ledger() as tx:
        found = consents.by_state(tx, state)
    if found is None or not found.is_from(request.cookies.get(cookie_of(state))):
        log.warning("caller_refused", code="oauth.state", known=found is not None)
        raise PageRefusal(
            HTTPStatus.FORBIDDEN,
            "This answer does not belong to this browser",
            "Nothing was connected. Open the link and Google's page in the same browser, with cookies allowed.",
            NEW_LINK,
        )
    return found


LinkHolder = Annotated[ConsentRequest, Depends(in_slot_of_org(link_holder), scope="function")]
LinkUser = Annotated[ConsentRequest, Depends(in_slot_of_org(link_user), scope="function")]
ReturnedBrowser = Annotated[ConsentRequest, Depends(returned_browser)]

VERIFIERS = frozenset({link_holder, link_user, returned_browser})
"""Every dependency that proves which browser it is."""


def _by_link(request: Request, link: str) -> ConsentRequest:
    with resources_of(request).database.ledger() as tx:
        found = consents.by_link(tx, link)
    if found is None:
        log.warning("caller_refused", code="oauth.link", known=False)
        raise PageRefusal(HTTPStatus.NOT_FOUND, "This link does not exist", NEW_LINK)
    if found.state != "asked" or found.refused is not None:
        log.warning("caller_refused", code="oauth.link", known=True)
        raise PageRefusal(HTTPStatus.GONE, "This link was used already, or is too old", NEW_LINK)
    return found
