"""Who may call which route: every route verifies its caller by one of these, or stands in the list of open routes."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Annotated

import structlog
from fastapi import Depends, Header, HTTPException, Request, status
from fastapi.dependencies.models import Dependant
from fastapi.security import HTTPBearer
from fastapi.security.utils import get_authorization_scheme_param

from domain.jobs.failures import Forbidden, Invalid
from domain.orgs.access.api_keys import Role
from domain.orgs.access.operators import CONSOLE, NEW_PASSWORD, PROVIDER_RETURN, PROVIDER_START, SIGN_IN
from gateway.http.bodies import read_body
from gateway.http.cells import refuse_moved_key
from gateway.http.org_slots import in_slot_of_org
from gateway.http.problems import RefusedPart
from gateway.http.resources import resources_of
from providers.discord.interactions import LONGEST_BODY as LONGEST_INTERACTION
from providers.discord.interactions import verify as verify_interaction
from providers.google.addresses import certs_url
from providers.google.push import PushClaims, verify_push
from storage.orgs.access import api_keys
from storage.orgs.access.api_keys import Caller

log = structlog.get_logger(__name__)

CONSOLE_FILES = f"{CONSOLE}/static/{{digest}}/{{name}}"
ENTRANCES = {SIGN_IN, NEW_PASSWORD, PROVIDER_START, PROVIDER_RETURN}
OPEN_ROUTES = frozenset({"/healthz", "/readyz", "/v1/openapi.json", "/docs", "/docs/{name}", CONSOLE_FILES} | ENTRANCES)
"""Routes that answer anybody: they reveal whether the process can do its work, and what every installation's API is;
and those by which operators come in, who prove there who they are. What the pages look like is no secret."""

INTERACTION_WITHIN_S = 1.0
"""Discord waits 3 s for the answer, most of it for the decision: a body that takes longer is answered for nobody."""

BEARER = HTTPBearer(
    scheme_name="ApiKey", description="An API key: `Authorization: Bearer sk-postroom-…`", auto_error=False
)


def pubsub_push(request: Request, authorization: Annotated[str | None, Header()] = None) -> PushClaims:
    """Google's Pub/Sub on behalf of our subscription: 401 without a token, 403 with another's.

    Certificates that cannot be had are a `Transient`, which the application answers with 503.
    """
    resources = resources_of(request)
    try:
        return verify_push(
            authorization,
            audience=resources.settings.pubsub_audience,
            service_account=resources.settings.pubsub_service_account,
            certs_url=certs_url(resources.settings.google_url),
            certificates=resources.certificates,
        )
    except Forbidden as refusal:
        log.warning("caller_refused", code=refusal.code, reason=refusal.reason)
        if authorization is None:
            raise HTTPException(
                status.HTTP_401_UNAUTHORIZED, "no bearer token", {"WWW-Authenticate": "Bearer"}
            ) from None
        raise HTTPException(status.HTTP_403_FORBIDDEN, refusal.code) from None


PubsubCaller = Annotated[PushClaims, Depends(pubsub_push)]


def key_holder(request: Request) -> Caller | None:
    """Whose API key a request has; None without a key that is good by now."""
    scheme, text = get_authorization_scheme_param(request.headers.get("authorization"))
    with resources_of(request).database.statements() as tx:
        caller = api_keys.find(tx, text.strip()) if scheme.lower() == "bearer" else None
        if caller is not None and caller.note:
            api_keys.note_use(tx, caller.key_id)
    return caller


def known_caller(request: Request, _scheme: Annotated[object, Depends(BEARER)] = None) -> Caller:
    """Whoever has an API key that is good; 401 without one, 421 where its org has moved, 429 above its rate."""
    caller = key_holder(request)
    if caller is None:
        _scheme, text = get_authorization_scheme_param(request.headers.get("authorization"))
        refuse_moved_key(request, text.strip())
        raise RefusedPart(
            status.HTTP_401_UNAUTHORIZED,
            "unauthorised",
            "an API key is needed that is neither revoked nor expired: Authorization: Bearer sk-postroom-…",
            {"WWW-Authenticate": 'Bearer realm="postroom"'},
        )
    resources_of(request).limiter.count(caller.key_id)
    refuse_unknown_query(request)
    return caller


def refuse_unknown_query(request: Request) -> None:
    """Raise `Invalid` for a parameter of the query that the route does not have: a filter that is ignored shows all.

    Not for routes without a key: Google and mail programs add parameters of their own to the links that they open.
    """
    if request.query_params:
        known = _query_of(request.scope["route"].dependant)
        for name in request.query_params:
            if name not in known:
                there = f"it has {', '.join(sorted(known))}" if known else "it has none"
                raise Invalid(name, f"is no parameter of the query: {there}")


def _query_of(part: Dependant) -> set[str]:
    """The names of the parameters that a route and its dependencies take of the query."""
    return {field.alias for field in part.query_params}.union(*map(_query_of, part.dependencies))


KeyHolder = Annotated[Caller, Depends(in_slot_of_org(known_caller), scope="function")]


def reader(caller: KeyHolder) -> Caller:
    """A key that may look at its org's jobs."""
    return _of_role(caller, Role.READER)


def writer(caller: KeyHolder) -> Caller:
    """A key that may enqueue and cancel its org's jobs."""
    return _of_role(caller, Role.WRITER)


def operator(caller: KeyHolder) -> Caller:
    """A key that may decide for its org what a person has to answer for."""
    return _of_role(caller, Role.OPERATOR)


async def uploader(request: Request, caller: Annotated[Caller, Depends(known_caller)]) -> AsyncIterator[Caller]:
    """A key that may store files. It holds a slot for uploads and none for requests: a file may come slowly."""
    writing = _of_role(caller, Role.WRITER)
    with resources_of(request).uploads.hold(writing.org_id):
        yield writing


async def interaction_body(request: Request) -> bytes:
    """A press with its message; more than that is nobody's."""
    return await read_body(request, LONGEST_INTERACTION, LONGEST_INTERACTION, within_s=INTERACTION_WITHIN_S)


async def discord_interaction(
    request: Request,
    body: Annotated[bytes, Depends(interaction_body)],
    x_signature_ed25519: Annotated[str | None, Header()] = None,
    x_signature_timestamp: Annotated[str | None, Header()] = None,
) -> bytes:
    """Discord on behalf of our application: its body, as it was signed; 401 for any other.

    In the event loop, as it takes no time: the threads may all wait for the database.
    """
    key = resources_of(request).settings.discord_public_key
    try:
        verify_interaction(x_signature_ed25519, x_signature_timestamp, body, public_key=key, now=datetime.now(UTC))
    except Forbidden as refusal:
        log.warning("caller_refused", code=refusal.code, reason=refusal.reason)
        raise HTTPException(status.HTTP_401_UNAUTHORIZED, refusal.code) from None
    return body


DiscordCaller = Annotated[bytes, Depends(discord_interaction)]

Reader = Annotated[Caller, Depends(reader)]
Writer = Annotated[Caller, Depends(writer)]
Operator = Annotated[Caller, Depends(operator)]
Uploader = Annotated[Caller, Depends(uploader, scope="function")]

VERIFIERS = frozenset({pubsub_push, discord_interaction, reader, writer, operator, uploader})
"""Every dependency that proves who calls; those of owners' browsers stand in `gateway/oauth/browsers.py`."""


def _of_role(caller: Caller, needed: Role) -> Caller:
    if not caller.role.includes(needed):
        raise Forbidden(f"a key of the role {caller.role.value} may not do this; it takes the role {needed.value}")
    return caller
