"""The routes of all areas: one for each operation that has one, made from its declaration."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response, status
from pydantic import BaseModel, Field, create_model

from domain.jobs.failures import Invalid
from domain.orgs.access.api_keys import Role
from domain.orgs.privacy.redaction import redact_document
from gateway.api.documents import takes
from gateway.api.repeated_requests import Keyed, replays, say_replayed
from gateway.http.bodies import JsonBody
from gateway.http.callers import operator, reader, writer
from gateway.http.problems import ProblemStatus, problems
from gateway.http.resources import call_of
from operations.areas import areas
from operations.operation import DOCUMENT, Area, Operation, Record, Route, checked
from operations.pages import LONGEST_CURSOR, MOST_SHOWN, SHOWN_BY_DEFAULT, Page, Window
from storage.orgs.access.api_keys import Caller

VERIFIERS: Mapping[Role, Callable[..., Caller]] = {
    Role.READER: reader,
    Role.WRITER: writer,
    Role.OPERATOR: operator,
}
"""The dependency by which a route knows its caller, by the role that its operation needs."""

Limit = Annotated[int, Query(ge=1, le=MOST_SHOWN)]
Cursor = Annotated[str | None, Query(max_length=LONGEST_CURSOR, description="`next_cursor` of the part before.")]


@cache
def routers() -> Sequence[APIRouter]:
    """The routes of every area, made once: FastAPI reads the signatures of them all, half a second of CPU."""
    return tuple(map(router_of, areas()))


def bodies() -> Iterator[type[BaseModel]]:
    """The bodies that deeds take."""
    operations = (one for area in areas() for one in area.operations)
    return (one.body for one in operations if one.body is not None and isinstance(one.route, Route))


def router_of(area: Area) -> APIRouter:
    """The routes of an area."""
    router = APIRouter(prefix="/v1", tags=[area.name])
    for operation in area.operations:
        if isinstance(operation.route, Route):
            _add(router, operation, operation.route)
    return router


def _add(router: APIRouter, operation: Operation[..., Any], route: Route) -> None:
    answer = page_of(operation) if operation.is_list else operation.record
    body = operation.body
    schema = route.document if body is None else body.__name__
    needed = body is None or any(one.is_required() for one in body.model_fields.values())
    router.add_api_route(
        route.path,
        _endpoint(operation, route),
        methods=[route.verb],
        name=operation.name,
        operation_id=operation.name,
        description=operation.text,
        response_model=answer,
        status_code=_success(operation, route),
        responses={**(replays(answer) if operation.keyed else {}), **problems(*_refusals(operation, route))},
        openapi_extra=takes(schema, required=needed) if schema else None,
    )


def _success(operation: Operation[..., Any], route: Route) -> int:
    """The status of what is done: 201 for what makes something, unless the route says that a job will do it."""
    makes = bool(route.location) or operation.keyed
    return status.HTTP_201_CREATED if makes and route.status == status.HTTP_200_OK else route.status


def _refusals(operation: Operation[..., Any], route: Route) -> tuple[ProblemStatus, ...]:
    if operation.events:
        return (401, 403, 404, 408, 409, 413, 415, 422, 429, 503)
    names_one = route.ids or not operation.is_list or "account_id" in operation.parameters.model_fields
    return (401, 403, 404, 422, 429, 503) if names_one else (401, 403, 422, 429, 503)


def _endpoint(operation: Operation[..., Any], route: Route) -> Callable[..., object]:
    """The handler of the operation's route, with the signature that FastAPI reads."""

    def handle(request: Request, response: Response, caller: Caller, **given: Any) -> object:  # noqa: ANN401 - as declared
        call = call_of(request, caller, given.pop("keyed", None))
        if operation.body is not None:
            given |= _read(operation.body, given.pop(DOCUMENT))
        if operation.is_paged:
            given["window"] = Window(given.pop("limit"), given.pop("cursor"))
        answer = operation(call, **given)
        if call.is_replayed:
            say_replayed(response)
        if isinstance(answer, Page):
            items = {operation.record.plural: [_document(one) for one in answer.items]}
            cursors = {"next_cursor": answer.next_cursor, "looked_back_to": answer.looked_back_to}
            return items | (cursors if operation.is_paged or operation.looks_back else {})
        document = _document(answer)
        if route.location:
            response.headers["Location"] = route.location.format(**document)
        return document

    handle.__signature__ = inspect.Signature(list(_parameters(operation, route)))  # type: ignore[attr-defined] # it is read by inspect
    return handle


def _parameters(operation: Operation[..., Any], route: Route) -> Iterator[inspect.Parameter]:
    """The parameters of a route: who calls, ids of the path, filters, and what is read of the body."""
    yield _parameter("request", Request)
    yield _parameter("response", Response)
    yield _parameter("caller", Annotated[Caller, Depends(VERIFIERS[operation.role])])
    for name, field in operation.parameters.model_fields.items():
        hint = operation.hints[name]
        if name in route.ids:
            yield _parameter(name, hint)
        elif name in route.query or (operation.body is None and name != DOCUMENT):
            filtered = Annotated[hint, Query(description=field.description)]  # type: ignore[valid-type] # made of what was declared
            yield _parameter(name, filtered, field.default)
    if operation.is_paged:
        yield _parameter("limit", Limit, SHOWN_BY_DEFAULT)
        yield _parameter("cursor", Cursor, None)
    if operation.body is not None or route.document:
        yield _parameter(DOCUMENT, JsonBody)
    if operation.keyed:
        yield _parameter("keyed", Keyed)


def _parameter(name: str, annotation: object, default: object = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def page_of(operation: Operation[..., Any]) -> type[BaseModel]:
    """The answer of a list: a page of records under their plural, or all of them."""
    record = operation.record
    fields: dict[str, Any] = {record.plural: (list[record], ...)}  # type: ignore[valid-type] # made of what was declared
    if operation.is_paged:
        words = "Give it as `cursor` for the next part; null at the end."
        fields["next_cursor"] = (str | None, Field(description=words))
    if operation.looks_back:
        words = "Where it stands, the part ends because enough rows were looked at: older ones were not."
        fields["looked_back_to"] = (datetime | None, Field(description=words))
    title, purpose = ("Page", "A part of a list.") if operation.is_paged else ("List", "The whole list.")
    return create_model(f"{record.__name__}{title}", __doc__=purpose, **fields)


def _read(body: type[BaseModel], document: object) -> dict[str, Any]:
    """The fields of a body; without a body, the defaults. Raises `Invalid` with the field and the reason."""
    if document is not None and not isinstance(document, dict):
        raise Invalid("document", "is no JSON object")
    return checked(body, document or {})


def _document(record: Record) -> dict[str, Any]:
    """A record as JSON, without what looks like a secret."""
    return redact_document(record.model_dump(mode="json"))
