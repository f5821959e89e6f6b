"""The reference page of operations: each list, look and deed with its command, route, role and audit event."""

from typing import Any

from domain.orgs.access.operators import CONSOLE, MAY, PROVEN_FOR, SEES_VALUES, OperatorRole
from operations.areas import areas
from operations.call import LOOKED
from operations.operation import Operation, Route
from tools.own_forms import own_forms
from tools.reference_text import member_notes, page, table

HEADS = ("operation", "command", "route", "page", "role", "operator", "audit event")
NOTHING = "writes nothing"


def operations_page() -> str:
    """A table for each area."""
    opening = (
        "What people and services may list, look at and do. Each line is declared once, in `operations/`; the command,"
        " the route and the page of the console are made from the declaration. The role is the least that a key needs,"
        " and *operator* the least that [somebody who has signed in to the console](#operators-of-the-console) needs."
        " An operator at a terminal has every role. Commands and routes that are not made so have [their own"
        " table](#forms-of-their-own)."
    )
    marks = (
        "*: of the whole fleet, refused to an operator of some orgs. °: values that belong to customers are shapes,"
        f" such as `text(41)`, until the operator asks for them; each look is audited as `{LOOKED}`."
    )
    parts = [
        part
        for area in areas()
        for part in (f"## {area.name}\n\n{area.purpose}", table(HEADS, map(cells, area.operations)))
    ]
    return page("Operations", opening, marks, _operators(), *parts, own_forms())


def _operators() -> str:
    """What each role of an operator may do."""
    notes = member_notes(OperatorRole)
    rows = [
        (
            role.value,
            notes[role.name],
            MAY[role].value,
            "values, each look audited" if role.includes(SEES_VALUES) else "shapes",
        )
        for role in OperatorRole
    ]
    heads = ("operator", "may", "calls what takes this role of a key", "payloads, mail's senders and subjects")
    words = (
        "An operator of some orgs reads as a tenant does: the database refuses the rest. What takes an admin, and a"
        f" look at values, takes the password once more, {PROVEN_FOR.seconds // 60} minutes after it was given."
    )
    return f"## Operators of the console\n\n{table(heads, rows)}\n\n{words}"


def cells(operation: Operation[..., Any]) -> tuple[str, ...]:
    """A line of the table. An operation without a route says why; one without an event writes nothing."""
    route = operation.route
    return (
        operation.name.replace("_", " "),
        f"`{' '.join(dict.fromkeys((operation.area, operation.command)))}`",
        f"`{route.verb} /v1{route.path}`" if isinstance(route, Route) else f"operators only: {route.reason}",
        f"`{CONSOLE}/{operation.area}/{operation.command}`",
        operation.role.value,
        _operator(operation),
        " or ".join(f"`{event}`" for event in operation.events) or NOTHING,
    )


def _operator(operation: Operation[..., Any]) -> str:
    """The least role of an operator, with the marks that the page explains."""
    marks = ("*" if operation.is_of_fleet else "") + ("°" if operation.record.values else "")
    return operation.least.value + marks
