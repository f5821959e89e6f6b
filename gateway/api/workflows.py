"""`/v1/workflows/validate` and `…/graph`. The other routes about workflows are made from their operations."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query, Request, Response

from domain.payloads.workflows import WorkflowName
from domain.workflows.definition import DefinitionDocument, NodeDocument, NodeName
from gateway.api.documents import takes
from gateway.http.bodies import JsonBody
from gateway.http.callers import Reader
from gateway.http.problems import problems
from gateway.http.resources import call_of
from operations.workflows.definitions import CheckedWorkflow, validate_workflow
from operations.workflows.runs import draw_run, draw_workflow

router = APIRouter(prefix="/v1", tags=["workflows"])

SVG = "image/svg+xml"
HEADERS = {
    # A browser that opens the picture by itself runs and loads nothing for it.
    "Content-Security-Policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
PICTURE: dict[int | str, dict[str, Any]] = {
    200: {"content": {SVG: {"schema": {"type": "string"}}}, "description": "The picture."}
}
Version = Annotated[int | None, Query(ge=1, le=1_000_000, description="Without it, the latest.")]


class WorkflowDocument(DefinitionDocument):
    """A workflow: its name, the schema of its input, and its nodes by their names."""

    nodes: dict[NodeName, NodeDocument]


@router.post(
    "/workflows/validate",
    responses=problems(401, 403, 408, 413, 415, 422, 429, 503),
    operation_id="validate_workflow",
    openapi_extra=takes("WorkflowDocument"),
)
def validate(request: Request, caller: Reader, document: JsonBody) -> CheckedWorkflow:
    """Check a definition, and say all that is wrong with it, each with its place. Nothing is saved."""
    return validate_workflow(call_of(request, caller), document)


@router.get(
    "/workflows/runs/{run_id}/graph",
    response_class=Response,
    responses={**PICTURE, **problems(401, 403, 404, 422, 429, 503)},
    operation_id="draw_run",
)
def run_graph(request: Request, caller: Reader, run_id: UUID) -> Response:
    """A run as a picture: its definition, and how each node stands."""
    return _picture(draw_run(call_of(request, caller), run_id))


@router.get(
    "/workflows/definitions/{name}/graph",
    response_class=Response,
    responses={**PICTURE, **problems(401, 403, 404, 422, 429, 503)},
    operation_id="draw_workflow",
)
def workflow_graph(request: Request, caller: Reader, name: WorkflowName, version: Version = None) -> Response:
    """A workflow as a picture."""
    return _picture(draw_workflow(call_of(request, caller), name, version))


def _picture(svg: str) -> Response:
    return Response(svg, headers=HEADERS, media_type=SVG)
