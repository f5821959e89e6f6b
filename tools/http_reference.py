"""The reference page of the HTTP API, read off its own OpenAPI description."""

from collections.abc import Iterator
from typing import Any

from gateway.api import operations
from gateway.api.openapi import description
from gateway.app import create_app
from operations.areas import areas
from operations.operation import Route
from settings import Settings
from tools.reference_text import page, table

SHOWN = (
    *("EnqueuedJob", "JobLinePage", "JobLine", "JobView", "CancelJobRequest", "CanceledJob", "RetriedJob"),
    *("DeadLetterView", "ReplayDeadLetterRequest", "ReplayedLetter", "AddScheduleRequest", "ScheduleView"),
    *("RuleTrialView", "TriedLine", "TriedAction"),
    *("SettingsView", "PolicyDocument", "PolicyView"),
    *("CorrectionView", "DisconnectedAccount", "Problem"),
)
"""The answers and bodies; payloads are in the page of job types."""


def declared() -> Iterator[str]:
    """The bodies and records of operations that have a route."""
    yield from (body.__name__ for body in operations.bodies())
    for area in areas():
        yield from (one.record.__name__ for one in area.operations if isinstance(one.route, Route))


def http_page() -> str:
    """Every route with its parameters, bodies, answers and refusals."""
    document = description(create_app(Settings()))
    schemas = document["components"]["schemas"]
    request = next(schemas[name] for name in sorted(schemas) if name.startswith("request."))
    opening = (
        f"{document['info']['description']}\n\nA gateway serves the whole description at `/v1/openapi.json`. Rules are"
        " documents in [the language of rules](rule-language.md)."
    )
    routes = [part for path, item in document["paths"].items() for part in _route(path, item)]
    bodies = [
        _schema("Request", request),
        *(_schema(name, schemas[name]) for name in dict.fromkeys((*SHOWN, *declared()))),
    ]
    return page("HTTP", opening, "## Routes", *routes, "## Bodies", *bodies)


def _route(path: str, item: dict[str, Any]) -> Iterator[str]:
    for verb, operation in item.items():
        yield f"### {verb.upper()} {path}\n\n{operation['description']}"
        rows = [
            (f"`{one['name']}`", one["in"], _kind(one["schema"]), one.get("description", ""))
            for one in operation.get("parameters", ())
        ]
        if rows:
            yield table(("parameter", "in", "type", "meaning"), rows)
        answers = [(status, one["description"]) for status, one in sorted(operation["responses"].items())]
        yield table(("status", "meaning"), answers)


def _schema(title: str, schema: dict[str, Any]) -> str:
    required = set(schema.get("required", ()))
    rows = [
        (f"`{name}`", _kind(facts), "yes" if name in required else "", facts.get("description", ""))
        for name, facts in schema["properties"].items()
    ]
    return f"### {title}\n\n{table(('field', 'type', 'always', 'meaning'), rows)}"


def _kind(schema: dict[str, Any]) -> str:
    """A type as JSON knows it."""
    if "anyOf" in schema:
        return " or ".join(_kind(one) for one in schema["anyOf"])
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return "object" if name.startswith("payload.") else f"`{name}`"
    if "enum" in schema and "type" not in schema:
        return "string"
    if schema.get("type") == "array":
        return f"list of {_kind(schema['items'])}"
    return str(schema.get("format") or schema.get("type", "any"))
