"""The pages by which operators come in and go: sign-in, one-time link, password once more, sign-out."""

from collections.abc import Mapping
from http import HTTPStatus
from ipaddress import ip_address, ip_network
from typing import Annotated
from urllib.parse import urlencode

import structlog
from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.concurrency import run_in_threadpool

from domain.clean_text import clean_text
from domain.jobs.failures import Gone, Invalid, Throttled
from domain.orgs.access.operators import (
    NEW_PASSWORD,
    PROVE,
    PROVIDER_PROOF,
    PROVIDER_START,
    SHORTEST_PASSWORD,
    SIGN_IN,
    SIGN_OUT,
    OperatorIdentity,
    check_password,
    operator_key,
)
from gateway.console.passwords import hash_password, is_password
from gateway.console.sign_in_pages import enter, known_browser, leave, sign_in_page
from gateway.console.visitors import (
    ConsoleForm,
    NotSignedIn,
    Signed,
    Visitor,
    Writing,
    call_as,
    check_console,
    check_same_origin,
    session_before,
)
from gateway.http.resources import resources_of
from operations.orgs import sign_in as entering
from storage.orgs.access import operators
from storage.orgs.access.operators import Operator

log = structlog.get_logger(__name__)
router = APIRouter(include_in_schema=False)

WRONG = "The e-mail address or the password is not right."
WRONG_PROOF = "The password is not right."
Link = Annotated[str, Query(max_length=100)]
Next = Annotated[str, Query(alias="next", max_length=4000)]


def stranger(request: Request) -> None:
    """Whoever may sign in, which is anybody; raises 404 while there is no operator."""
    with resources_of(request).database.statements() as tx:
        check_console(is_there=operators.is_there_one(tx))


Stranger = Depends(stranger)


@router.get(SIGN_IN, dependencies=[Stranger])
def show_sign_in(request: Request, after: Next = "") -> Response:
    """Ask for address and password."""
    return ask_for_sign_in(request, HTTPStatus.OK, {"next": after})


@router.post(SIGN_IN, dependencies=[Stranger])
async def sign_in(request: Request, form: ConsoleForm) -> Response:
    """Sign in; a wrong address and a wrong password have the same answer, after the same work."""
    check_same_origin(request)
    email, password = form.get("email", ""), form.get("password", "")
    try:
        await run_in_threadpool(count_attempt, request, operator_key(email.strip()) or email)
    except Throttled as full:
        return ask_for_sign_in(request, HTTPStatus.TOO_MANY_REQUESTS, form, full.reason)
    found = await run_in_threadpool(operator_of, request, email)
    is_right = await is_password(request, password, None if found is None else found.password_hash)
    if found is None or not is_right:
        log.warning("sign_in_refused")
        return ask_for_sign_in(request, HTTPStatus.FORBIDDEN, form, WRONG)
    try:
        secret = await run_in_threadpool(begin, request, found, found.password_hash or "")
    except Gone:
        return ask_for_sign_in(request, HTTPStatus.FORBIDDEN, form, WRONG)
    return enter(request, secret, form.get("next", ""), found.email)


@router.get(NEW_PASSWORD)
def show_link(request: Request, link: Link = "") -> Response:
    """Ask for a new password; looking at a link does not use it up."""
    found = _link_holder(request, link)
    if found is None:
        return sign_in_page(HTTPStatus.GONE, "link_gone.html")
    return _password_page(HTTPStatus.OK, found, link)


@router.post(NEW_PASSWORD)
async def use_link(request: Request, form: ConsoleForm) -> Response:
    """Use a link up for a password, and sign in."""
    check_same_origin(request)
    link = form.get("link", "")
    found = await run_in_threadpool(_link_holder, request, link)
    if found is None:
        return sign_in_page(HTTPStatus.GONE, "link_gone.html")
    try:
        password = check_password(form.get("password", ""), found.email)
    except Invalid as refusal:
        return _password_page(HTTPStatus.UNPROCESSABLE_ENTITY, found, link, refusal.reason)
    kept = await hash_password(request, password)
    try:
        secret = await run_in_threadpool(entering.set_password, call_as(request, found.operator_id), link, kept)
    except Gone:
        return sign_in_page(HTTPStatus.GONE, "link_gone.html")
    return enter(request, secret, "", found.email)


@router.get(PROVE)
def show_prove(request: Request, visitor: Signed, after: Next = "") -> Response:
    """Ask for the password once more, or for a proof at the provider."""
    return ask_for_proof(request, visitor, HTTPStatus.OK, after)


@router.post(PROVE)
async def prove(request: Request, visitor: Writing, form: ConsoleForm) -> Response:
    """Take the password once more; the session goes on under another cookie."""
    after = form.get("next", "")
    try:
        await run_in_threadpool(resources_of(request).sign_ins.count_proof, visitor.session_id)
    except Throttled as full:
        return await run_in_threadpool(
            ask_for_proof, request, visitor, HTTPStatus.TOO_MANY_REQUESTS, after, full.reason
        )
    found = await run_in_threadpool(operator_of, request, visitor.email)
    if found is None or not await is_password(request, form.get("password", ""), found.password_hash):
        log.warning("proof_refused", session_id=str(visitor.session_id))
        return await run_in_threadpool(ask_for_proof, request, visitor, HTTPStatus.FORBIDDEN, after, WRONG_PROOF)
    call = call_as(request, found.operator_id)
    secret = await run_in_threadpool(entering.prove, call, visitor.session_id)
    return enter(request, secret, after)


@router.post(SIGN_OUT)
def sign_out(request: Request, visitor: Writing) -> Response:
    """End the session."""
    entering.sign_out(call_as(request, visitor.operator_id), visitor.session_id)
    return leave(request)


def network_of(request: Request) -> str:
    """Where a request comes from, as attempts are counted: an address, and of IPv6 what one subscriber has."""
    host = "" if request.client is None else request.client.host
    try:
        address = ip_address(host)
    except ValueError:
        return host
    return host if address.version == 4 else str(ip_network(f"{host}/64", strict=False))  # noqa: PLR2004 - IPv4


def count_attempt(request: Request, account: str) -> None:
    """Count an attempt to come in; raises `Throttled` when there were too many."""
    resources_of(request).sign_ins.count(account, network_of(request), known_browser(request, account))


def operator_of(request: Request, email: str) -> Operator | None:
    """The operator of an address, let in or not."""
    with resources_of(request).database.statements() as tx:
        return operators.by_address(tx, clean_text(email.strip()))


def _link_holder(request: Request, link: str) -> Operator | None:
    with resources_of(request).database.statements() as tx:
        return operators.by_link(tx, link)


def begin(request: Request, found: Operator, proof: str | OperatorIdentity) -> str:
    """The cookie of a new session, in place of the one that the browser had; raises `Gone`."""
    call, before = call_as(request, found.operator_id), session_before(request)
    return entering.sign_in(call, found.operator_id, proof, before=before)


def ask_for_sign_in(request: Request, status: HTTPStatus, form: Mapping[str, str], refusal: str = "") -> Response:
    """The page of the sign-in, with why the last attempt was refused."""
    after = form.get("next", "")
    facts = {"next": after, "email": form.get("email", ""), "elsewhere": _elsewhere(request, PROVIDER_START, after)}
    return sign_in_page(status, "sign_in.html", action=SIGN_IN, refusal=refusal, **facts)


def ask_for_proof(request: Request, visitor: Visitor, status: HTTPStatus, after: str, refusal: str = "") -> Response:
    """The page that asks who it is once more: for the password, at the provider, or both."""
    found = operator_of(request, visitor.email)
    if found is None:
        raise NotSignedIn
    elsewhere = _elsewhere(request, PROVIDER_PROOF, after) if found.account else ""
    facts = {"next": after, "token": visitor.csrf_token, "email": visitor.email, "elsewhere": elsewhere}
    return sign_in_page(
        status, "prove.html", action=PROVE, refusal=refusal, has_password=bool(found.password_hash), **facts
    )


def _elsewhere(request: Request, start: str, after: str) -> str:
    """Where the way through the provider begins; nothing where none is set."""
    return f"{start}?{urlencode({'next': after}, errors='replace')}" if resources_of(request).identities else ""


def _password_page(status: HTTPStatus, found: Operator, link: str, refusal: str = "") -> Response:
    facts = {"link": link, "email": found.email, "refusal": refusal, "shortest": SHORTEST_PASSWORD}
    return sign_in_page(status, "password.html", action=NEW_PASSWORD, **facts)
