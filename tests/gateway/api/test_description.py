"""The API's description is true: schemathesis asks what it says, and what it did not say, and meets no 5xx."""

import json
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as tries
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS
from schemathesis.specs.openapi.schemas import OpenApiSchema

from domain.jobs.job_request import JobRequest
from domain.orgs.access.api_keys import Role
from domain.payloads import payload_types
from gateway.api.openapi import description, offered
from gateway.app import create_app
from operations.areas import areas
from operations.operation import Route
from settings import Settings
from storage.orgs import orgs
from storage.postgres.database import Database
from tests.gateway.api.conftest import Client, client_of
from tests.gateway.serving import ask, serve

DECLARED = {
    (f"/v1{one.route.path}", one.route.verb.lower())
    for area in areas()
    for one in area.operations
    if isinstance(one.route, Route)
}
"""The routes of operations."""
ROUTES = DECLARED | {
    ("/v1/users/{user_id}/inbox/stream", "get"),
    ("/v1/workflows/definitions/{name}/graph", "get"),
    ("/v1/workflows/runs/{run_id}/graph", "get"),
    ("/v1/workflows/validate", "post"),
    ("/v1/artifacts", "put"),
    ("/v1/actions", "get"),
    ("/v1/actions", "post"),
    ("/v1/actions/{action_id}", "get"),
    ("/v1/actions/{action_id}/undo", "post"),
    ("/v1/accounts", "get"),
    ("/v1/accounts/connect", "post"),
    ("/v1/accounts/{account_id}/corrections", "get"),
    ("/v1/accounts/{account_id}/disconnect", "post"),
    ("/v1/accounts/{account_id}/labels", "get"),
    ("/v1/accounts/{account_id}/labels/{label_id}", "patch"),
    ("/v1/accounts/{account_id}/settings", "get"),
    ("/v1/accounts/{account_id}/settings", "patch"),
    ("/v1/directions", "get"),
    ("/v1/directions", "post"),
    ("/v1/directions/{direction_id}", "delete"),
    ("/v1/jobs", "get"),
    ("/v1/jobs", "post"),
    ("/v1/jobs/{job_id}", "get"),
    ("/v1/jobs/{job_id}/cancel", "post"),
    ("/v1/jobs/{job_id}/retry", "post"),
    ("/v1/openapi.json", "get"),
    ("/v1/rules", "get"),
    ("/v1/rules", "post"),
    ("/v1/rules/test", "post"),
    ("/v1/rules/{rule_id}", "delete"),
    ("/v1/rules/{rule_id}", "get"),
    ("/v1/rules/{rule_id}", "put"),
    ("/v1/rules/{rule_id}/disable", "post"),
    ("/v1/rules/{rule_id}/enable", "post"),
    ("/v1/rules/{rule_id}/test", "post"),
    ("/v1/safety", "delete"),
    ("/v1/safety", "get"),
    ("/v1/safety", "patch"),
}
WITHOUT_INPUT = {("/v1/openapi.json", "get")}
HELD_TO = ("not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance")
EXAMPLES = 15
"""Per route: the suite takes a sample; the door's own tests name the cases."""


@pytest.fixture(scope="module")
def door(shared_settings: Settings) -> Iterator[str]:
    with serve(shared_settings) as url:
        yield url


@pytest.fixture
def client(shared_store: Database, door: str) -> Client:
    """An operator of an org of its own: the rate of a key is limited."""
    with shared_store.ledger() as tx:
        org = orgs.add(tx, uuid4().hex, settings={}, weight=1)
    return client_of(shared_store, door, org.org_id, Role.OPERATOR)


@pytest.fixture(scope="module")
def described() -> dict[str, Any]:
    """Made once, for it takes half a second of CPU."""
    document: dict[str, Any] = json.loads(json.dumps(description(create_app(Settings()))))
    return document


@pytest.fixture(scope="module")
def schema(described: dict[str, Any]) -> OpenApiSchema:
    return schemathesis.openapi.from_dict(described)


def test_the_description_is_what_is_sent(client: Client, described: dict[str, Any]) -> None:
    assert ask(f"{client.url}/v1/openapi.json").json == described


def test_every_route_is_described(described: dict[str, Any]) -> None:
    assert {(path, verb) for path, item in described["paths"].items() for verb in item} == ROUTES
    assert described["openapi"].startswith("3.1")


def test_all_but_the_description_need_a_key(described: dict[str, Any]) -> None:
    for path, verb in ROUTES - WITHOUT_INPUT:
        assert described["paths"][path][verb]["security"] == [{"ApiKey": []}], path
        assert {"401", "403", "429", "503"} <= set(described["paths"][path][verb]["responses"]), path


def test_each_job_type_has_its_own_request(described: dict[str, Any]) -> None:
    schemas = described["components"]["schemas"]
    choices = described["paths"]["/v1/jobs"]["post"]["requestBody"]["content"]["application/json"]["schema"]["oneOf"]
    names = [choice["$ref"].removeprefix("#/components/schemas/request.") for choice in choices]
    assert names == [kind.declaration.job_type for kind in offered()]
    assert "gmail.sync" in names
    assert not any(name.startswith("maintenance.") for name in names)
    for name in names:
        kind = payload_types.find(name)
        assert kind is not None
        assert set(schemas[f"request.{name}"]["properties"]) == set(JobRequest.model_fields)
        assert set(schemas[f"payload.{name}"].get("properties", {})) == set(kind.model_fields)


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=lambda mode: mode.value)
@pytest.mark.parametrize("route", sorted(ROUTES - WITHOUT_INPUT), ids=lambda route: f"{route[1]} {route[0]}")
def test_whatever_is_asked_is_answered_as_described(
    client: Client, schema: OpenApiSchema, route: tuple[str, str], mode: GenerationMode
) -> None:
    path, verb = route
    operation = schema[path][verb.upper()]
    headers = {"Authorization": f"Bearer {client.key}"}
    checks: list[Any] = CHECKS.get_by_names(HELD_TO)

    @tries(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(mode))
    def ask_and_check(case: schemathesis.Case[Any]) -> None:
        case.call_and_validate(base_url=client.url, headers=headers, checks=checks)

    ask_and_check()
