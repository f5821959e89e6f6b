"""How a page of the sign-in is written, and how a browser gets the session's cookie, and loses it."""

from http import HTTPStatus
from typing import Any

from fastapi import Request, Response
from fastapi.responses import RedirectResponse

from domain.orgs.access.operators import LIVES, SIGN_IN, cookie_name, page_after
from gateway.console.rendering import page
from gateway.http.resources import resources_of
from gateway.oauth.pages import HEADERS


def sign_in_page(status: HTTPStatus, template: str, **facts: Any) -> Response:  # noqa: ANN401 - as a template takes them
    """A page for somebody who may have no session."""
    return page(template, status, **facts)


def enter(request: Request, secret: str, after: str) -> Response:
    """Send a browser with the cookie of its new session to the page that it had asked for."""
    answer = RedirectResponse(page_after(after), HTTPStatus.SEE_OTHER, HEADERS)
    name, is_secure = cookie_name(resources_of(request).settings.public_url)
    # `lax`: a link in a chat leads an operator to the console; what is sent by a form carries a token.
    answer.set_cookie(
        name, secret, max_age=int(LIVES.total_seconds()), path="/", secure=is_secure, httponly=True, samesite="lax"
    )
    return answer


def leave(request: Request) -> Response:
    """Take the cookie away."""
    answer = RedirectResponse(SIGN_IN, HTTPStatus.SEE_OTHER, HEADERS)
    name, is_secure = cookie_name(resources_of(request).settings.public_url)
    answer.delete_cookie(name, path="/", secure=is_secure, httponly=True, samesite="lax")
    return answer
