"""No route answers an unknown caller unless it stands in the list of open routes."""

from collections.abc import Callable, Iterator
from typing import Any

from fastapi import Depends, FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute, iter_route_contexts

from gateway import artifact_links, decision_links, unsubscribing
from gateway.app import create_app
from gateway.http import callers, receipt_callers
from gateway.http.callers import OPEN_ROUTES, pubsub_push
from gateway.oauth import browsers
from settings import Settings

VERIFIERS = (
    callers.VERIFIERS
    | browsers.VERIFIERS
    | receipt_callers.VERIFIERS
    | unsubscribing.VERIFIERS
    | artifact_links.VERIFIERS
    | decision_links.VERIFIERS
)


def calls(dependant: Dependant) -> Iterator[Callable[..., Any] | None]:
    yield dependant.call
    for inner in dependant.dependencies:
        yield from calls(inner)


def unguarded(app: FastAPI) -> set[str]:
    """The paths of all routes that verify nobody; a route of an unknown kind counts as one."""
    routes = [context.original_route for context in iter_route_contexts(app.routes)]
    return {
        str(getattr(route, "path", route))
        for route in routes
        if not isinstance(route, APIRoute) or not VERIFIERS & set(calls(route.dependant))
    }


def nothing() -> dict[str, str]:
    return {}


def test_every_route_verifies_its_caller_or_is_open_on_purpose(settings: Settings) -> None:
    assert unguarded(create_app(settings)) == OPEN_ROUTES


def test_a_forgotten_verification_is_found(settings: Settings) -> None:
    app = create_app(settings)
    app.add_api_route("/v1/secrets", nothing)
    app.add_api_route("/v1/guarded", nothing, dependencies=[Depends(pubsub_push)])
    app.mount("/static", FastAPI())
    assert unguarded(app) - OPEN_ROUTES >= {"/v1/secrets", "/static"}
    assert "/v1/guarded" not in unguarded(app)
