"""The API's description (OpenAPI 3.1): the routes as they are, and each job type's payload from its own class."""

import json
from collections.abc import Iterator
from copy import deepcopy
from functools import lru_cache
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel

from domain.jobs.contract import OLDEST_VERSION
from domain.jobs.job_request import JobRequest
from domain.mail.triage.safety_policy import PolicyDocument
from domain.notifications.template import Template
from domain.orgs.access.api_keys import is_internal
from domain.payloads import payload_types
from domain.payloads.payload import Payload
from gateway.api import operations
from gateway.api.connecting import ConnectWish
from gateway.api.documents import SCHEMAS
from gateway.api.examples import add_examples
from gateway.api.reasons import Reason
from gateway.api.rule_schema import RULE_SCHEMAS
from gateway.api.workflows import WorkflowDocument
from gateway.http.problems import Problem

router = APIRouter(prefix="/v1", tags=["description"])

VERSION = "1"
TITLE = "Postroom"
DOCUMENTS: tuple[type[BaseModel], ...] = (
    Problem,
    PolicyDocument,
    Template,
    ConnectWish,
    WorkflowDocument,
    Reason,
)
"""The bodies that stand in no route's signature, because the routes read them with our own words for what is wrong."""
SUMMARY = (
    "Enqueue, look at, list, cancel and retry jobs; ask for actions on mail, and take them back; write rules and"
    " directions, and change what is set for a mailbox. Refusals are `application/problem+json` (RFC 9457); `field` and"
    " `reason` say what is wrong. `X-Request-Id`, `X-Correlation-Id` and `traceparent` are kept with the jobs that a"
    " request makes."
)


@router.get("/openapi.json", operation_id="describe", response_model=dict[str, Any])
async def describe(request: Request) -> Response:
    """This description."""
    return Response(_written(request.app), media_type="application/json")


@lru_cache(maxsize=1)
def _written(app: FastAPI) -> bytes:
    """The description as it is sent, made once per application: anybody may ask for it, and it is large."""
    return json.dumps(description(app), ensure_ascii=False, separators=(",", ":")).encode()


def description(app: FastAPI) -> dict[str, Any]:
    """The description of the routes under `/v1`."""
    if app.openapi_schema is None:
        app.openapi_schema = _describe(app)
    return app.openapi_schema


def offered() -> Iterator[type[Payload]]:
    """The payload classes whose jobs may be asked for over HTTP."""
    return (kind for kind in payload_types if not is_internal(kind.declaration))


def _describe(app: FastAPI) -> dict[str, Any]:
    routes = [route for route in app.routes if str(getattr(route, "path", "")).startswith("/v1/")]
    document = get_openapi(title=TITLE, version=VERSION, description=SUMMARY, routes=routes or app.routes)
    document["paths"] = {path: item for path, item in document["paths"].items() if path.startswith("/v1/")}
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    schemas.update(deepcopy(RULE_SCHEMAS))
    for model in (*DOCUMENTS, *operations.bodies()):
        _add(schemas, model.__name__, model.model_json_schema(ref_template=SCHEMAS))
    choices = [_choice(schemas, kind) for kind in offered()]
    paths = document["paths"]
    paths["/v1/jobs"]["post"]["requestBody"] = _json({"oneOf": choices}, required=True)
    add_examples(paths)
    return document


def _choice(schemas: dict[str, Any], kind: type[Payload]) -> dict[str, Any]:
    """The request for a job of one type."""
    declared = kind.declaration
    payload = f"payload.{declared.job_type}"
    _add(schemas, payload, kind.model_json_schema(ref_template=SCHEMAS))
    request = deepcopy(JobRequest.model_json_schema(ref_template=SCHEMAS))
    request["title"] = declared.job_type
    request["properties"]["job_type"] = {"enum": [declared.job_type, *declared.aliases], "title": "Job Type"}
    request["properties"]["payload"] = {"$ref": SCHEMAS.format(model=payload)}
    request["properties"]["payload_version"]["description"] = (
        f"The version of the payload's shape, {declared.version} as described here;"
        f" without it, {OLDEST_VERSION} is meant."
    )
    name = f"request.{declared.job_type}"
    _add(schemas, name, request)
    return {"$ref": SCHEMAS.format(model=name)}


def _add(schemas: dict[str, Any], name: str, schema: dict[str, Any]) -> None:
    """Put a schema and those that it refers to beside the others."""
    schemas.update(schema.pop("$defs", {}))
    schemas[name] = schema


def _json(schema: dict[str, Any], *, required: bool) -> dict[str, Any]:
    return {"required": required, "content": {"application/json": {"schema": schema}}}
