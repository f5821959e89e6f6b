"""A parameter of the query that a route does not have is refused by its name, on every route that takes a key."""

import re
from collections.abc import Iterator
from uuid import UUID

import pytest
from fastapi.routing import APIRoute, iter_route_contexts
from fastapi.testclient import TestClient

from domain.orgs.access.api_keys import Role
from engine.runtime import Runtime
from gateway.app import create_app
from gateway.http.callers import known_caller
from settings import Settings
from tests.gateway.api.conftest import give_key
from tests.gateway.http.test_callers import calls


@pytest.fixture
def gateway(settings: Settings, process: Runtime, org: UUID) -> Iterator[TestClient]:
    """A gateway and an operator's key."""
    key, _ = give_key(process.database, org, Role.OPERATOR)
    with TestClient(create_app(settings), headers={"Authorization": f"Bearer {key.text}"}) as client:
        yield client


def keyed_routes(settings: Settings) -> list[APIRoute]:
    found = (context.original_route for context in iter_route_contexts(create_app(settings).routes))
    return [one for one in found if isinstance(one, APIRoute) and known_caller in set(calls(one.dependant))]


def test_every_route_with_a_key_refuses_a_parameter_that_it_does_not_have(
    gateway: TestClient, settings: Settings
) -> None:
    routes = keyed_routes(settings)
    assert len(routes) > 50
    answered = {}
    for route in routes:
        for verb in route.methods or ():
            path = re.sub(r"\{\w+\}", "1", route.path)
            answer = gateway.request(verb, f"{path}?nonsense=1")
            answered[verb, route.path] = answer.status_code, answer.json().get("field")
    assert {asked: found for asked, found in answered.items() if found != (422, "nonsense")} == {}


def test_the_refusal_names_the_parameters_that_there_are(gateway: TestClient) -> None:
    refusal = gateway.get("/v1/jobs?state=failed&type=gmail.sync").json()
    assert refusal["field"] == "type"
    assert (
        "it has account_id, before, cursor, error_code, job_id, job_type, limit, payload, queue, since, state"
        in refusal["reason"]
    )
    assert gateway.get("/v1/jobs?job_type=gmail.sync&limit=5").status_code == 200
    assert gateway.get("/v1/jobs/1?full=1").json()["reason"].endswith("it has none")


def test_a_link_that_a_program_has_added_to_is_none_of_these(gateway: TestClient) -> None:
    assert gateway.get("/healthz?at=1").status_code == 200
    assert gateway.get("/v1/jobs?type=x", headers={"Authorization": ""}).status_code == 401
