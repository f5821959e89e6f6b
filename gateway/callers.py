"""Who may call which route: every route verifies its caller by one of these, or stands in the list of open routes."""

from typing import Annotated

import structlog
from fastapi import Depends, Header, HTTPException, Request, status

from domain.jobs.failures import Forbidden
from gateway.resources import resources_of
from providers.google.push import PushClaims, verify_push

log = structlog.get_logger(__name__)

OPEN_ROUTES = frozenset({"/healthz", "/readyz"})
"""Routes that answer anybody: they reveal nothing but whether the process can do its work."""


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
            certs_url=resources.settings.google_certs_url,
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

VERIFIERS = frozenset({pubsub_push})
"""Every dependency that proves who calls."""
