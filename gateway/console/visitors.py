"""Who has signed in to the console, and by which form: each page of it takes `Signed`, each deed `Writing`.

A form is one of ours when the browser says so (`Sec-Fetch-Site`, else `Origin`), and when it carries the token of the
session: what a browser says of itself is advice, and no proof.
"""

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from typing import Annotated
from urllib.parse import urlencode, urlsplit
from uuid import UUID

import structlog
from fastapi import Depends, FastAPI, HTTPException, Request, Response
from fastapi.responses import RedirectResponse

from domain.jobs.failures import Forbidden
from domain.jobs.job import ActorType
from domain.orgs.access.api_keys import Role
from domain.orgs.access.operators import MAY, PROVE, SIGN_IN, NotProven, OperatorRights, OperatorRole, cookie_name
from gateway.console.reading import reads_of
from gateway.http.bodies import FORM_WITHIN_S, LONGEST_JSON, form_fields, read_body
from gateway.http.request_ids import origin_of
from gateway.http.resources import resources_of
from operations.call import Call
from storage.orgs.access import operators
from storage.orgs.access.operators import Session
from storage.postgres.database import Database

log = structlog.get_logger(__name__)

TOKEN = "token"  # noqa: S105 - the name of a field


class NotSignedIn(Exception):
    """A page was asked for by somebody without a session."""


@dataclass(frozen=True, slots=True)
class Visitor:
    """Who has signed in to the console."""

    operator_id: UUID
    email: str
    rights: OperatorRights
    session_id: UUID
    csrf_token: str = field(repr=False)
    """What each form of the session carries in the field `token`."""

    @property
    def role(self) -> OperatorRole:
        """What they may do; each role includes those before it."""
        return self.rights.role

    @property
    def org_ids(self) -> frozenset[UUID] | None:
        """The orgs of their scope; None for all."""
        return self.rights.org_ids

    def call(self, request: Request, org_id: UUID | None, *, shows_values: bool = False) -> Call:
        """A call in their name, for an org of the scope or, without one, of the fleet; raises `Forbidden`.

        Values that belong to customers are shapes in what it answers, unless they are asked for; each look is audited.
        """
        origin = origin_of(request, operators.actor_of(self.operator_id), ActorType.USER)
        org_id = self.rights.org_of(org_id)
        made = resources_of(request).call(origin, MAY[self.role], self.email, org_id=org_id)
        made.rights, made.shows_values = self.rights, shows_values
        return made


def call_as(request: Request, operator_id: UUID) -> Call:
    """A call in the name of an operator who is about to come in or to go, and has no rights by that."""
    origin = origin_of(request, operators.actor_of(operator_id), ActorType.USER)
    return resources_of(request).call(origin, Role.READER)


def add_handlers(app: FastAPI) -> None:
    """Let whoever has not signed in, or must prove once more who they are, come to the page for it."""
    app.add_exception_handler(NotSignedIn, _send_to_sign_in)
    app.add_exception_handler(NotProven, _send_to_prove)


async def visitor(request: Request) -> Visitor:
    """Whoever has a session, looked up by the console's own connections.

    Raises `NotSignedIn` without one, and 404 while nobody could sign in.
    """
    return await reads_of(request).look_up(lambda: find_visitor(request))


def find_visitor(request: Request) -> Visitor:
    """As `visitor`, in the thread of a route that asks others besides."""
    secret, reads = _secret_of(request), reads_of(request)
    with reads.database.statements() as tx:
        found = operators.find_session(tx, secret)
        if found is None:
            check_console(is_there=operators.is_there_one(tx))
            raise NotSignedIn
    if found.note:
        reads.note(found.session_id, partial(_note_use, resources_of(request).database, found.session_id))
    return _visitor(found, secret)


def session_before(request: Request) -> UUID | None:
    """The session that a browser has which signs in."""
    with resources_of(request).database.statements() as tx:
        found = operators.find_session(tx, _secret_of(request))
    return None if found is None else found.session_id


def check_console(*, is_there: bool) -> None:
    """Raise 404 while there is no operator: without one there is no console."""
    if not is_there:
        raise HTTPException(HTTPStatus.NOT_FOUND)


def check_same_origin(request: Request) -> None:
    """Raise `Forbidden` for a form of another site, and for one of which the browser does not say whose it is."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is not None:
        is_ours = site == "same-origin"
    else:
        public_url = resources_of(request).settings.public_url
        is_ours = origin is not None and origin == (public_url or f"http://{urlsplit(str(request.base_url)).netloc}")
    if not is_ours:
        log.warning("form_refused", site=site)
        raise Forbidden("the form was not sent by a page of the console")


async def console_form(request: Request) -> Mapping[str, str]:
    """The fields of a form of the console's, which may carry a payload."""
    return form_fields(await read_body(request, LONGEST_JSON, LONGEST_JSON, within_s=FORM_WITHIN_S))


ConsoleForm = Annotated[Mapping[str, str], Depends(console_form)]
Signed = Annotated[Visitor, Depends(visitor)]


async def writing_visitor(request: Request, found: Signed, form: ConsoleForm) -> Visitor:
    """Whoever has a session and sends a form of it; raises `Forbidden` for the form of another site or session."""
    check_same_origin(request)
    if not hmac.compare_digest(form.get(TOKEN, "").encode(), found.csrf_token.encode()):
        log.warning("form_refused", session_id=str(found.session_id))
        raise Forbidden("the form is of another session: reload its page and send it again")
    return found


Writing = Annotated[Visitor, Depends(writing_visitor)]

VERIFIERS = frozenset({visitor, writing_visitor})
"""Every dependency that proves who has signed in."""


def _note_use(database: Database, session_id: UUID) -> None:
    with database.statements() as tx:
        operators.note_use(tx, session_id)


def _secret_of(request: Request) -> str:
    name, _ = cookie_name(resources_of(request).settings.public_url)
    return request.cookies.get(name, "")


def _visitor(found: Session, secret: str) -> Visitor:
    # Whoever reads the token in a page learns nothing of the cookie.
    token = hashlib.sha256(f"form:{secret}".encode()).hexdigest()
    return Visitor(found.operator_id, found.email, found.rights, found.session_id, token)


async def _send_to_sign_in(request: Request, _refusal: Exception) -> Response:
    return _send_to(SIGN_IN, request)


async def _send_to_prove(request: Request, _refusal: Exception) -> Response:
    return _send_to(PROVE, request)


def _send_to(page: str, request: Request) -> Response:
    """Send the browser to a page from which it comes back: to this one, or to the one with the form that was sent."""
    asked = request.url if request.method == "GET" else urlsplit(request.headers.get("referer", ""))
    after = f"{asked.path}?{asked.query}" if asked.query else asked.path
    target = f"{page}?{urlencode({'next': after})}" if after else page
    if "hx-request" in request.headers:
        # A redirect would be followed by the script, and the page put into a part of the page.
        return Response(status_code=HTTPStatus.UNAUTHORIZED, headers={"HX-Redirect": target})
    return RedirectResponse(target, HTTPStatus.SEE_OTHER)
