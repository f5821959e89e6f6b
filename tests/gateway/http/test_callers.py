"""Each route knows its caller or is open on purpose, and serves whoever is an org's in a slot of that org."""

from collections.abc import Callable, Iterator
from typing import Any

from fastapi import Depends, FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute, iter_route_contexts

from gateway import artifact_links, decision_links, unsubscribing
from gateway.app import create_app
from gateway.console import visitors
from gateway.http import callers, receipt_callers
from gateway.http.callers import OPEN_ROUTES, pubsub_push
from gateway.http.org_slots import HOLDERS, in_slot_of_org
from gateway.oauth import browsers
from settings import Settings

VERIFIERS = (
    callers.VERIFIERS
    | browsers.VERIFIERS
    | receipt_callers.VERIFIERS
    | unsubscribing.VERIFIERS
    | artifact_links.VERIFIERS
    | decision_links.VERIFIERS
    | visitors.VERIFIERS
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


OF_NO_SLOT = {
    callers.pubsub_push: "a push is of a mailbox, which accounts of several orgs may be; it waits 0.05 s for a lock",
    callers.discord_interaction: "whose it is only the question says; the decision is made in a slot of that org",
    callers.uploader: "the bytes come in a slot for uploads; what is written after them is in a slot for requests",
    artifact_links.link_holder: "the bytes go in a slot for downloads; what is written is in a slot for requests",
    visitors.visitor: "an operator is of the fleet, or of several orgs",
    visitors.writing_visitor: "as above",
    browsers.returned_browser: "Google is asked in a slot for exchanges, of which an org has two",
}
"""Callers whose requests take another slot, or one later, and why."""


def outside_of_slots(app: FastAPI) -> set[str]:
    """The paths of all routes whose callers are known, and that hold no slot of an org."""
    known = [
        (context.original_route.path, set(calls(context.original_route.dependant)))
        for context in iter_route_contexts(app.routes)
        if isinstance(context.original_route, APIRoute)
    ]
    return {path for path, called in known if VERIFIERS & called and not (HOLDERS | OF_NO_SLOT.keys()) & called}


def nothing() -> dict[str, str]:
    return {}


def test_every_route_verifies_its_caller_or_is_open_on_purpose(settings: Settings) -> None:
    assert unguarded(create_app(settings)) == OPEN_ROUTES


def test_every_route_of_an_org_is_served_in_a_slot_of_it(settings: Settings) -> None:
    assert outside_of_slots(create_app(settings)) == set()


def test_a_forgotten_slot_is_found(settings: Settings) -> None:
    app = create_app(settings)
    app.add_api_route("/forgotten", nothing, dependencies=[Depends(receipt_callers.resend_callback)])
    app.add_api_route("/kept", nothing, dependencies=[Depends(in_slot_of_org(receipt_callers.resend_callback))])
    assert outside_of_slots(app) == {"/forgotten"}


def test_a_forgotten_verification_is_found(settings: Settings) -> None:
    app = create_app(settings)
    app.add_api_route("/v1/secrets", nothing)
    app.add_api_route("/v1/guarded", nothing, dependencies=[Depends(pubsub_push)])
    app.mount("/static", FastAPI())
    assert unguarded(app) - OPEN_ROUTES >= {"/v1/secrets", "/static"}
    assert "/v1/guarded" not in unguarded(app)
