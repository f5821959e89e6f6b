"""Puts changes of a run sheet into the audit log, as planning does."""

from typing import Any
from uuid import UUID

from psycopg import Connection
from psycopg.types.json import Jsonb

SHEET, SLOT = UUID(int=0x5EE7), UUID(int=0x5107)


def add_change(database: Connection, org: UUID, name: str, revision: int = 2, *, hours_ago: int = 0) -> int:
    """A slot got this name; returns the event's number."""
    slot = {"starts_at": "2026-03-02T08:00:00+00:00", "ends_at": "2026-03-02T12:00:00+00:00"}
    sheets = [{"name": "Friday", "slots": {str(SLOT): {**slot, "name": one}}} for one in ("Load-in", name)]
    data: dict[str, Any] = {"run_sheet_id": str(SHEET), "revision": revision, "before": sheets[0], "after": sheets[1]}
    row = database.execute(
        "insert into audit_entries (at, event, org_id, actor_type, actor_id, request_id, correlation_id, data)"
        " values (now() - %s * interval '1 hour', 'run_sheet.changed', %s, 'user', 'ada', 'r', 'c', %s) returning id",
        (hours_ago, org, Jsonb(data)),
    ).fetchone()
    assert row is not None
    return int(row[0])


def enriched(database: Connection, org: UUID) -> list[tuple[int, int, str]]:
    """Each event that has details: its number, the rules' version, and the first sentence."""
    return database.execute(
        "select event_id, rule_version, sentences ->> 0 from audit_details where org_id = %s"
        " order by event_id, rule_version",
        (org,),
    ).fetchall()
