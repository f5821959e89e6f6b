"""Effects in doubt: the fleet's, a page at a time, and one of an org, for the job that finds out about it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from psycopg.types.json import Jsonb

from domain.jobs.effects import Doubt, EffectStatus, Strategy
from domain.jobs.job import ClaimedJob, JsonObject
from domain.orgs.privacy.redaction import redact_document
from storage.postgres.database import Transaction


@dataclass(frozen=True, slots=True)
class DoubtsPage:
    """Those of some effects that are in doubt, and where to go on; `place` is None after the last."""

    doubts: Sequence[Doubt]
    place: tuple[UUID, str] | None


@dataclass(frozen=True, slots=True)
class OwnDoubt:
    """An effect in doubt of the caller's org, with what its job worked on."""

    key: str
    job_type: str
    payload: JsonObject
    payload_version: int
    last_seen_at: datetime


def listed(tx: Transaction, *, after: tuple[UUID, str], batch: int) -> DoubtsPage:
    """Look through the next effects of all orgs; as the ledger role only."""
    rows = tx.run("list_doubts", after=after[0], after_key=after[1], batch=batch)
    found = [
        Doubt(
            row.org_id,
            row.key,
            Strategy(row.strategy),
            EffectStatus.UNKNOWN if row.status == "unknown" else None,
            row.job_id,
            row.job_type,
            row.last_seen_at,
            row.account_id,
        )
        for row in rows
        if row.in_doubt
    ]
    return DoubtsPage(found, (rows[-1].job_id, rows[-1].key) if len(rows) == batch else None)


def mark_unknown(tx: Transaction, doubts: Sequence[Doubt]) -> None:
    """Leave calls that their jobs did not see the end of to a person; as the ledger role only."""
    open_calls = [each for each in doubts if each.status is None]
    if open_calls:
        tx.run("mark_unknown", org_ids=[each.org_id for each in open_calls], keys=[each.key for each in open_calls])


def read(tx: Transaction, job: ClaimedJob, key: str) -> OwnDoubt | None:
    """The effect that a held job is to find out about; None when it is not in doubt, or nobody knows its payload."""
    rows = tx.raw(
        "select job_type, payload, payload_version, last_seen_at from postroom.read_doubt(%(job)s, %(token)s, %(key)s)",
        {"job": job.job_id, "token": job.token, "key": key},
    )
    return OwnDoubt(key, *rows[0]) if rows else None


def read_request(tx: Transaction, job: ClaimedJob, key: str) -> bytes | None:
    """What was sent, of an effect that a held job is to find out about; None when nothing is kept."""
    rows = tx.raw(
        "select postroom.read_doubt_request(%(job)s, %(token)s, %(key)s) as request",
        {"job": job.job_id, "token": job.token, "key": key},
    )
    found: bytes | None = rows[0].request
    return found


def conclude(
    tx: Transaction,
    job: ClaimedJob,
    doubt: OwnDoubt,
    status: EffectStatus,
    *,
    result: JsonObject | None = None,
    error: JsonObject | None = None,
) -> bool:
    """Write what was found out; false when somebody has touched the effect since it was read."""
    rows = tx.raw(
        "select postroom.conclude_doubt(%(job)s, %(token)s, %(key)s, %(seen_at)s, %(status)s, %(result)s, %(error)s)"
        " as is_written",
        {
            "job": job.job_id,
            "token": job.token,
            "key": doubt.key,
            "seen_at": doubt.last_seen_at,
            "status": status.value,
            "result": None if result is None else Jsonb(redact_document(result)),
            "error": None if error is None else Jsonb(redact_document(error)),
        },
    )
    return bool(rows[0].is_written)
