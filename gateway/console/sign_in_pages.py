"""How a page of the sign-in is written, and how a browser gets the session's cookie, and loses it."""

import re
import secrets
from http import HTTPStatus
from typing import Any

from fastapi import Request, Response
from fastapi.responses import RedirectResponse

from domain.orgs.access.operators import LIVES, SIGN_IN, cookie_name, page_after
from gateway.console.rendering import page
from gateway.http.resources import resources_of
from gateway.oauth.pages import HEADERS
from storage.orgs.secrets.sealing import Sealer

KNOWN = "-known"
"""What the name of the cookie ends with that a browser keeps by which an account has come in."""
KNOWN_FOR_S = 180 * 86_400
SIGNATURE = re.compile("[0-9a-f]{32}")


def sign_in_page(status: HTTPStatus, template: str, **facts: Any) -> Response:  # noqa: ANN401 - as a template takes them
    """A page for somebody who may have no session."""
    return page(template, status, **facts)


def enter(request: Request, secret: str, after: str, account: str = "") -> Response:
    """Send a browser with the cookie of its new session to the page that it had asked for.

    Where the address of the account is given, the browser is known from then on as one of the account's.
    """
    answer = RedirectResponse(page_after(after), HTTPStatus.SEE_OTHER, HEADERS)
    settings = resources_of(request).settings
    name, is_secure = cookie_name(settings.public_url)
    # `lax`: a link in a chat leads an operator to the console; what is sent by a form carries a token.
    answer.set_cookie(
        name, secret, max_age=int(LIVES.total_seconds()), path="/", secure=is_secure, httponly=True, samesite="lax"
    )
    if account:
        browser = secrets.token_hex(16)
        answer.set_cookie(
            name + KNOWN, f"{browser}.{Sealer.of(settings).sign(_known(browser, account)).hex()}",
            max_age=KNOWN_FOR_S, path="/", secure=is_secure, httponly=True, samesite="strict",
        )  # fmt: skip
    return answer


def known_browser(request: Request, account: str) -> str:
    """By what a browser is counted by which the account has come in before; empty for another one."""
    settings = resources_of(request).settings
    browser, _, signature = request.cookies.get(cookie_name(settings.public_url)[0] + KNOWN, "").partition(".")
    if SIGNATURE.fullmatch(signature) is None:
        return ""
    return browser if Sealer.of(settings).is_signed(_known(browser, account), bytes.fromhex(signature)) else ""


def _known(browser: str, account: str) -> bytes:
    return f"browser of an operator\n{browser}\n{account}".encode()


def leave(request: Request) -> Response:
    """Take the cookie away."""
    answer = RedirectResponse(SIGN_IN, HTTPStatus.SEE_OTHER, HEADERS)
    name, is_secure = cookie_name(resources_of(request).settings.public_url)
    answer.delete_cookie(name, path="/", secure=is_secure, httponly=True, samesite="lax")
    return answer
