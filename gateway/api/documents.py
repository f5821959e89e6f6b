"""The bodies that routes take beside jobs: read with their field and reason, and described in OpenAPI."""

from typing import Any

SCHEMAS = "#/components/schemas/{model}"


def takes(name: str, *, required: bool = True) -> dict[str, Any]:
    """What a route says in OpenAPI of its body; the schema of that name stands beside the others."""
    schema = {"$ref": SCHEMAS.format(model=name)}
    return {"requestBody": {"required": required, "content": {"application/json": {"schema": schema}}}}
