"""The plans of the statements that PostgreSQL runs, those inside of functions too (auto_explain)."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from psycopg import Connection
from psycopg.errors import Diagnostic

TELL_PLANS = (
    "load 'auto_explain'; set auto_explain.log_min_duration = 0; set auto_explain.log_nested_statements = on;"
    " set auto_explain.log_format = json; set client_min_messages = log"
)


@contextmanager
def plans_of(connection: Connection) -> Iterator[list[dict[str, Any]]]:
    """Collects the plans of all that is run inside."""
    reported: list[dict[str, Any]] = []

    def hear(notice: Diagnostic) -> None:
        _, _, plan = (notice.message_primary or "").partition("plan:\n")
        if plan:
            reported.append(json.loads(plan))

    connection.execute(TELL_PLANS)
    connection.add_notice_handler(hear)
    try:
        yield reported
        connection.execute("select 1")  # the plan of a query is reported when its portal closes
    finally:
        connection.remove_notice_handler(hear)
        connection.execute("set auto_explain.log_min_duration = -1")


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", []):
        yield from nodes(child)


def indexes(reported: list[dict[str, Any]]) -> set[str]:
    return {node["Index Name"] for one in reported for node in nodes(one["Plan"]) if "Index Name" in node}
