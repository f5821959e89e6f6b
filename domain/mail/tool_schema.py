"""The JSON schema that a model is shown of a tool, drawn from the class that reads what the model answers."""

from typing import Any

from pydantic import BaseModel


def schema_of(arguments: type[BaseModel]) -> dict[str, Any]:
    """The schema of a tool's arguments, the same bytes each time; no other field is allowed."""
    drawn = arguments.model_json_schema()
    return {
        "type": "object",
        "properties": {name: _plain(value) for name, value in drawn.get("properties", {}).items()},
        "required": drawn.get("required", []),
        "additionalProperties": False,
    }


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    """A property's schema without what only Pydantic reads; one that may be null is simply left out by the model."""
    kept = {name: value for name, value in schema.items() if name not in {"title", "default"}}
    options = [one for one in kept.pop("anyOf", []) if one.get("type") != "null"]
    return {**kept, **(options[0] if options else {})}
