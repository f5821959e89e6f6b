"""The reference page of operations: each list, look and deed with its command, route, role and audit event."""

from typing import Any

from operations.areas import areas
from operations.operation import Operation, Route
from tools.reference_text import page, table

HEADS = ("operation", "command", "route", "role", "audit event")
NOTHING = "writes nothing"


def operations_page() -> str:
    """A table for each area."""
    opening = (
        "What people and services may list, look at and do. Each line is declared once, in `operations/`; the command"
        " and the route are made from the declaration. The role is the least that a key needs. An operator at a"
        " terminal has every role."
    )
    parts = [
        part
        for area in areas()
        for part in (f"## {area.name}\n\n{area.purpose}", table(HEADS, map(cells, area.operations)))
    ]
    return page("Operations", opening, *parts)


def cells(operation: Operation[..., Any]) -> tuple[str, ...]:
    """A line of the table. An operation without a route says why; one without an event writes nothing."""
    route = operation.route
    return (
        operation.name.replace("_", " "),
        f"`{' '.join(dict.fromkeys((operation.area, operation.command)))}`",
        f"`{route.verb} /v1{route.path}`" if isinstance(route, Route) else f"operators only: {route.reason}",
        operation.role.value,
        " or ".join(f"`{event}`" for event in operation.events) or NOTHING,
    )
