"""Dead letters: reading and closing them; and what moves in the ledger when a job is done again."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from psycopg.types.json import Jsonb
from pydantic import AwareDatetime

from domain.jobs.job import JsonObject
from storage.postgres.database import Transaction
from storage.postgres.execution import Row
from storage.postgres.looking import FIRST_TIME, LAST_TIME, Looked


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


class LetterPosition(NamedTuple):
    """Where a letter stands in the list."""

    at: AwareDatetime
    letter_id: UUID


MOST_LOOKED_AT = 20_000
"""How many letters a page looks at for those in one state; open ones have an index of their own."""

COLUMNS = ("id", *(field.name for field in fields(DeadLetter) if field.name != "letter_id"))
SELECT = f"select {', '.join(COLUMNS)} from dead_letters"  # noqa: S608 - the names of a class's fields


def of_job(tx: Transaction, job_id: UUID) -> DeadLetter | None:
    """The dead letter of a job."""
    return _first(tx.raw(f"{SELECT} where job_id = %(id)s", {"id": job_id}))


def get(tx: Transaction, letter_id: UUID) -> DeadLetter | None:
    """A dead letter by its own id, or by its job's."""
    query = f"{SELECT} where id = %(id)s or job_id = %(id)s"
    return _first(tx.raw(query, {"id": letter_id}))


def listed(
    tx: Transaction,
    *,
    state: str | None = "open",
    after: LetterPosition | None = None,
    limit: int,
    most_looked_at: int = MOST_LOOKED_AT,
) -> Looked[DeadLetter]:
    """Dead letters in a state, or in any for None, after a position: the newest first, one more than `limit`.

    A tenant's transaction lists the letters of its org, the ledger's those of all.
    """
    start = {"at": after.at if after else LAST_TIME, "last_id": after.letter_id if after else UUID(int=0)}
    if state == "open":
        found = tx.run("list_open_letters", **start, limit=limit + 1)
        return Looked([_letter(row) for row in found], None)
    rows = tx.run("look_back_at_dead_letters", **start, most=most_looked_at)
    reached = rows[0].reached if rows else None
    found = tx.run("list_dead_letters", **start, state=state, reached=reached or FIRST_TIME, limit=limit + 1)
    return Looked([_letter(row) for row in found], reached)


def close(tx: Transaction, letter_id: UUID, *, state: str, by: str, why: str, replay: UUID | None = None) -> bool:
    """Close an open letter; false when somebody else was first."""
    rows = tx.raw(
        "update dead_letters set state = %(state)s, resolved_by = %(by)s, resolution = %(why)s, resolved_at = now(),"
        " replay_job_id = %(replay)s where id = %(id)s and state = 'open' returning id",
        {"state": state, "by": by, "why": why, "replay": replay, "id": letter_id},
    )
    return bool(rows)


def release_dead_job(tx: Transaction, job_id: UUID) -> Row | None:
    """Free the key of a dead job; what its replay inherits, or None when its row is past its retention."""
    rows = tx.run("release_dead_job", job_id=job_id)
    return rows[0] if rows else None


def lock_job(tx: Transaction, job_id: UUID, org_id: UUID | None) -> Row | None:
    """A job that is to be done again, held until the transaction ends; None when the org, if one is given, has none."""
    rows = tx.run("lock_job_to_retry", job_id=job_id, org_id=org_id)
    return rows[0] if rows else None


def release_ended_job(tx: Transaction, job_id: UUID) -> None:
    """Free the key of a job that has ended."""
    tx.run("release_ended_job", job_id=job_id)


def hand_over(tx: Transaction, source: UUID, target: UUID, *, steps: bool) -> None:
    """Let the new job answer for the effects of the old one and, with `steps`, go on where that stood."""
    tx.run("hand_over_effects", source=source, target=target)
    tx.run("hand_over_shared_effects", source=source, target=target)
    if steps:
        tx.run("copy_steps", source=source, target=target)


def doubtful_effects(tx: Transaction, org_id: UUID, job_id: UUID) -> frozenset[str]:
    """The keys of a job's effects of which nobody knows whether they happened, held until the transaction ends."""
    return frozenset(row.key for row in tx.run("find_doubtful_effects", org_id=org_id, job_id=job_id))


def rule_effect(tx: Transaction, org_id: UUID, key: str, *, happened: bool, result: JsonObject) -> bool:
    """Write what a person found out about an unknown effect; false when the org has none of that key."""
    status = "succeeded" if happened else "failed"
    given = Jsonb(result) if happened else None
    return bool(tx.run("rule_effect", org_id=org_id, key=key, status=status, result=given))


def _first(rows: Sequence[Row]) -> DeadLetter | None:
    return _letter(rows[0]) if rows else None


def _letter(row: Row) -> DeadLetter:
    named = row._asdict()
    return DeadLetter(letter_id=named.pop("id"), **named)
