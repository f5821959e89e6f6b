"""The tables that `adopt-spec026` takes over, as the older system has made them, and rows in them."""

from typing import Any
from uuid import UUID, uuid4

from psycopg import Connection
from psycopg.types.json import Jsonb

TABLES = """
create table email_processing_jobs (
  id uuid primary key default gen_random_uuid(),
  user_id uuid not null,
  connection_id uuid not null,
  status text not null default 'pending',
  result_summary jsonb,
  error_message text,
  created_at timestamptz not null default now(),
  started_at timestamptz,
  completed_at timestamptz,
  updated_at timestamptz not null default now()
);
create table email_digest_batches (id uuid primary key, user_id uuid)
"""
ADD = """
insert into email_processing_jobs (
  id, user_id, connection_id, status, result_summary, error_message, created_at, started_at, completed_at)
values (%(id)s, %(user_id)s, %(connection_id)s, %(status)s, %(result_summary)s, %(error_message)s,
  coalesce(%(created_at)s::timestamptz, now()), %(started_at)s, %(completed_at)s)
"""
FIELDS = ("result_summary", "error_message", "created_at", "started_at", "completed_at")


def make_old_tables(database: Connection) -> None:
    """Both tables, empty."""
    database.execute(TABLES)


def add_old_job(database: Connection, connection_id: UUID, status: str = "pending", **given: Any) -> UUID:  # noqa: ANN401 - any column's value
    """A row; returns its id."""
    row = dict.fromkeys(FIELDS) | {"id": uuid4(), "user_id": uuid4()} | given
    if row["result_summary"] is not None:
        row["result_summary"] = Jsonb(row["result_summary"])
    database.execute(ADD, row | {"connection_id": connection_id, "status": status})
    return UUID(str(row["id"]))
