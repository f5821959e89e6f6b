"""What the client knows of the API is what the API's description, the job contract and the SQL function say."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any
from uuid import UUID

import pytest
from postroom_client import calls, options, records, statement
from postroom_client.calls import Call
from postroom_client.celery import contract_of
from postroom_client.options import JobOptions
from psycopg import Connection

from domain.jobs.contract import JobContract
from domain.jobs.job import FINAL
from domain.workflows.advance import RunState
from gateway.api.openapi import description
from gateway.app import create_app
from gateway.http.problems import Problem
from tests.doubles.factories import make_settings

SCHEMAS = {
    records.Enqueued: "EnqueuedJob",
    records.Job: "JobView",
    records.Canceled: "CanceledJob",
    records.StartedRun: "StartedRun",
    records.Run: "WorkflowRunView",
    records.RunNode: "RunNodeLine",
    records.SentEvent: "SentEvent",
    records.RunEvent: "RunEventView",
    records.RunEventPage: "RunEventViewPage",
}
"""Each record, and the schema of which it has the fields."""

KINDS: dict[str, dict[str, Any]] = {
    "str": {"type": "string"},
    "int": {"type": "integer"},
    "bool": {"type": "boolean"},
    "UUID": {"type": "string", "format": "uuid"},
    "datetime": {"type": "string", "format": "date-time"},
    "Document": {"type": "object", "additionalProperties": True},
    "Sequence[str]": {"type": "array", "items": {"type": "string"}},
    "Sequence[RunNode]": {"type": "array", "items": {"$ref": "#/components/schemas/RunNodeLine"}},
    "Sequence[RunEvent]": {"type": "array", "items": {"$ref": "#/components/schemas/RunEventView"}},
    "Any": {},
}
NOTHING = {"type": "null"}

ANY = UUID(int=7)
CALLS: tuple[tuple[str, Call[Any]], ...] = (
    ("request.gmail.sync", calls.enqueue("gmail.sync", {}, "k", {"priority": 1})),
    ("", calls.job(ANY)),
    ("CancelJobRequest", calls.cancel(ANY, "why")),
    ("StartRunRequest", calls.start_run("w", "k", {"input": {}, "version": 1, "project_id": ANY})),
    ("", calls.run(ANY)),
    ("SendEventRequest", calls.send_event(ANY, "paid", {}, "k")),
    ("", calls.run_events(ANY, "c")),
)
"""Every call, and the schema of its body."""


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return description(create_app(make_settings()))


def misfits(kind: type, schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> Iterator[str]:
    """The fields of a record that a schema lacks, or has otherwise."""
    for one in fields(kind):
        if one.name == "document":
            continue
        given = schema["properties"].get(one.name)
        if given is None or one.name not in schema["required"]:
            yield f"{one.name} is not always there"
        elif kind_of(given, schemas) != expected(str(one.type)):
            yield f"{one.name} is {kind_of(given, schemas)}"


def expected(annotation: str) -> list[dict[str, Any]]:
    kind = KINDS[annotation.removesuffix(" | None")]
    return [kind, NOTHING] if annotation.endswith(" | None") else [kind]


def kind_of(given: Mapping[str, Any], schemas: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What a value may be, without words about it; an enumeration is its type."""
    return [plain(one, schemas) for one in given.get("anyOf", [given])]


def plain(given: Mapping[str, Any], schemas: Mapping[str, Any]) -> dict[str, Any]:
    target = schemas.get(given.get("$ref", "").rpartition("/")[2], {})
    if "enum" in target:
        return {"type": target["type"]}
    kept = {name: given[name] for name in ("type", "format", "additionalProperties", "$ref") if name in given}
    return kept | ({"items": plain(given["items"], schemas)} if "items" in given else {})


@pytest.mark.parametrize("kind", SCHEMAS, ids=lambda kind: kind.__name__)
def test_a_record_has_the_fields_of_its_schema(document: dict[str, Any], kind: type) -> None:
    schemas = document["components"]["schemas"]
    assert list(misfits(kind, schemas[SCHEMAS[kind]], schemas)) == []


def test_a_record_of_another_schema_would_be_found(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    found = set(misfits(records.Enqueued, schemas["CanceledJob"], schemas))
    assert found == {f"{name} is not always there" for name in ("job_type", "created", "replayed")}
    assert list(misfits(records.SentEvent, {**schemas["SentEvent"], "required": ["event_id", "run_id"]}, schemas))
    other = {**schemas["SentEvent"]["properties"], "name": {"type": "integer"}}
    assert list(misfits(records.SentEvent, {**schemas["SentEvent"], "properties": other}, schemas))


@pytest.mark.parametrize(("body", "call"), CALLS, ids=[f"{call.method} {call.path}" for _, call in CALLS])
def test_each_call_goes_to_a_route_and_says_what_it_takes(document: dict[str, Any], body: str, call: Call[Any]) -> None:
    templates = {path: re.compile(re.sub(r"\{\w+\}", "[^/]+", path)) for path in document["paths"]}
    (path,) = (path for path, pattern in templates.items() if pattern.fullmatch(call.path))
    operation = document["paths"][path][call.method.lower()]
    known = {one["name"] for one in operation.get("parameters", ())}
    assert {*call.query, *(name.decode().lower() for name, _ in call.headers)} <= known
    said = set() if call.body is None else set(json.loads(call.body))
    assert bool(said) == bool(body)
    if body:
        assert said <= set(document["components"]["schemas"][body]["properties"])


def test_the_options_are_those_of_every_way() -> None:
    by_header = set(calls.HEADERS)
    own = {"job_id", "job_type", "org_id", "payload", "idempotency_key", "created_at", "actor_type", "actor_id"}
    of_contract = {"run_at" if name == "scheduled_for" else name for name in JobContract.model_fields} - own
    assert of_contract == options.ALL
    assert by_header <= options.ALL


def test_the_options_by_http_are_the_body_s(document: dict[str, Any]) -> None:
    schema = document["components"]["schemas"]["request.gmail.sync"]
    own = {"job_type", "payload", "org_id", "idempotency_key"}
    assert set(schema["properties"]) - own == options.ALL - set(calls.HEADERS)


def test_the_function_s_parameters_are_those_of_the_statement(database: Connection) -> None:
    row = database.execute(
        "select proargnames, array(select format_type(t, null) from unnest(proargtypes) t)"
        " from pg_proc where oid = 'postroom.enqueue'::regproc"
    ).fetchone()
    assert row is not None
    longer = {"timestamptz": "timestamp with time zone"}
    mine = {"job_type", "idempotency_key", "org_id", "payload", *statement.SqlOptions.__annotations__}
    kinds = {name: statement.KINDS.get(name, "text") for name in mine | set(JobOptions.__annotations__)}
    assert {name: longer.get(kind, kind) for name, kind in kinds.items()} == dict(zip(*row, strict=True))


def test_a_contract_is_one_that_workers_take() -> None:
    said = {"priority": 1, "max_attempts": 2, "retry_base_s": 3, "retry_cap_s": 4, "payload_version": 1}
    made = contract_of("gmail.sync", {"account_id": ANY}, org_id=ANY, key="k", actor_id="shop", **said)  # type: ignore[arg-type]  # numbers all
    read = JobContract.parse(made)
    assert (read.org_id, read.idempotency_key, read.actor_id, read.priority) == (ANY, "k", "shop", 1)
    assert read.payload == {"account_id": str(ANY)}
    assert read.request_id == read.correlation_id == str(read.job_id)


def test_the_final_states_are_those_of_jobs_and_runs() -> None:
    assert {state.value for state in FINAL} == records.ENDED
    assert {state.value for state in RunState} - {"running"} <= records.ENDED


def test_a_refusal_has_what_a_problem_says() -> None:
    assert {"code", "field", "reason", "status", "request_id", "detail"} <= set(Problem.model_fields)
