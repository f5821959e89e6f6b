"""Dead letters: reading them, and closing them by replay or discard."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from uuid import UUID

from domain.jobs.job import JsonObject
from storage.postgres.database import Transaction
from storage.postgres.execution import Row


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A dead job with its diagnostics."""

    letter_id: UUID
    org_id: UUID
    job_id: UUID
    job_type: str
    queue: str
    payload: JsonObject
    payload_version: int
    reason: str
    error: JsonObject
    history: list[JsonObject]
    effects: list[JsonObject]
    plan: str
    state: str
    replay_job_id: UUID | None
    resolution: str | None
    resolved_by: str | None
    created_at: datetime
    resolved_at: datetime | None


COLUMNS = ("id", *(field.name for field in fields(DeadLetter) if field.name != "letter_id"))
SELECT = f"select {', '.join(COLUMNS)} from dead_letters"  # noqa: S608 - the names of a class's fields


def of_job(tx: Transaction, job_id: UUID) -> DeadLetter | None:
    """The dead letter of a job."""
    return _first(tx.raw(f"{SELECT} where job_id = %(id)s", {"id": job_id}))


def get(tx: Transaction, letter_id: UUID) -> DeadLetter | None:
    """A dead letter by its own id, or by its job's."""
    query = f"{SELECT} where id = %(id)s or job_id = %(id)s"
    return _first(tx.raw(query, {"id": letter_id}))


def listed(tx: Transaction, *, state: str | None = "open", limit: int = 100) -> Sequence[DeadLetter]:
    """Dead letters, the newest first; all states when `state` is None."""
    query = f"{SELECT} where %(state)s::text is null or state = %(state)s order by created_at desc limit %(limit)s"
    return [_letter(row) for row in tx.raw(query, {"state": state, "limit": limit})]


def close(tx: Transaction, letter_id: UUID, *, state: str, by: str, why: str, replay: UUID | None = None) -> bool:
    """Close an open letter; false when somebody else was first."""
    rows = tx.raw(
        "update dead_letters set state = %(state)s, resolved_by = %(by)s, resolution = %(why)s, resolved_at = now(),"
        " replay_job_id = %(replay)s where id = %(id)s and state = 'open' returning id",
        {"state": state, "by": by, "why": why, "replay": replay, "id": letter_id},
    )
    return bool(rows)


def _first(rows: Sequence[Row]) -> DeadLetter | None:
    return _letter(rows[0]) if rows else None


def _letter(row: Row) -> DeadLetter:
    named = row._asdict()
    return DeadLetter(letter_id=named.pop("id"), **named)
