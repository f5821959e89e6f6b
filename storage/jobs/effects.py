"""Effects and steps as the ledger keeps them, every write under the claim that causes it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from psycopg.types.json import Jsonb

from domain.jobs.effects import KEEP_EFFECT_FOR, EffectStatus, Standing, Strategy
from domain.jobs.failures import ClaimLost, Invalid
from domain.jobs.job import ClaimedJob, JsonObject, Origin
from domain.orgs.privacy.redaction import redact_document
from storage.postgres.database import Transaction
from storage.postgres.execution import Row
from storage.postgres.retention import Retention

RETENTION = Retention(
    "restorations",
    "restored_at",
    KEEP_EFFECT_FOR,
    only="t.restored_at < coalesce(least("
    "(select j.created_at from jobs j where j.foreign_at is null order by j.id limit 1),"
    " (select min(j.foreign_at) from jobs j)), 'infinity')",
)
"""A restoration puts jobs of before in doubt, and effects of before, which are kept so long: it goes after the last."""


@dataclass(frozen=True, slots=True)
class Intent:
    """What the ledger knew of an effect when this attempt wanted to begin it; `result` only when it is done."""

    standing: Standing
    result: JsonObject | None
    claim_left: timedelta = timedelta(0)
    """How long the attempt may still take before its deadline takes the claim away."""
    in_flight_for: timedelta = timedelta(0)
    """How long the call of an earlier attempt may still be under way; not above zero when it cannot be."""
    known_for: timedelta = timedelta(0)
    """Since when the provider may know the key."""
    request: bytes | None = None
    """What an earlier attempt sent under this key."""


def begin_effect(
    tx: Transaction,
    job: ClaimedJob,
    key: str,
    strategy: Strategy,
    *,
    lasts: timedelta = timedelta(0),
    request: bytes | None = None,
) -> Intent:
    """Write the intent to act, as the ledger role or in a tenant's transaction; raises `ClaimLost`.

    The call that follows may take so long; a repeated call must send `request` again.
    """
    rows = tx.run(
        "begin_effect",
        job_id=job.job_id,
        token=job.token,
        key=key,
        strategy=strategy.value,
        keep_for=KEEP_EFFECT_FOR,
        lasts=lasts,
        request=request,
    )
    if not rows:
        raise ClaimLost(f"the claim was lost before effect {key} began")
    row, none = rows[0], timedelta(0)
    return Intent(
        Standing(row.what),
        row.result,
        claim_left=row.claim_left or none,
        in_flight_for=row.in_flight_for or none,
        known_for=row.known_for or none,
        request=row.first_request,
    )


def announce_call(
    tx: Transaction, job: ClaimedJob, key: str, lasts: timedelta, request: bytes | None = None
) -> timedelta:
    """Write that the intent's call begins now, may take so long and sends `request`; raises `ClaimLost`.

    Returns how long the attempt may still take.
    """
    rows = tx.run("announce_call", job_id=job.job_id, token=job.token, key=key, lasts=lasts, request=request)
    left: timedelta | None = rows[0].claim_left
    if left is None:
        raise ClaimLost(f"the claim was lost before effect {key} was called")
    return left


def finish_effect(
    tx: Transaction,
    job: ClaimedJob,
    key: str,
    status: EffectStatus,
    *,
    result: JsonObject | None = None,
    error: JsonObject | None = None,
) -> bool:
    """Record how an effect ended; false when the claim is lost and nothing was written."""
    return bool(tx.run("finish_effect", **_ended(job, key, status, result, error))[0].finished)


def record_effect(
    tx: Transaction, job: ClaimedJob, key: str, status: EffectStatus, *, result: JsonObject | None = None, lost: str
) -> None:
    """The same, in a transaction that must not be committed when the claim is lost: raises `ClaimLost`, says `lost`."""

    def check(rows: Sequence[Row]) -> None:
        if not rows[0].finished:
            raise ClaimLost(lost)

    tx.ask("finish_effect", check, **_ended(job, key, status, result, None))


def _ended(
    job: ClaimedJob, key: str, status: EffectStatus, result: JsonObject | None, error: JsonObject | None
) -> dict[str, object]:
    return {
        "job_id": job.job_id,
        "token": job.token,
        "key": key,
        "status": status.value,
        "result": None if result is None else Jsonb(redact_document(result)),
        "error": None if error is None else Jsonb(redact_document(error)),
    }


def has_begun(tx: Transaction, org_id: UUID, key: str) -> bool:
    """Whether any job of the org has ever begun this effect."""
    return bool(tx.run("find_effect", org_id=org_id, key=key))


def may_have_happened(tx: Transaction, org_id: UUID, key: str) -> bool:
    """Whether the effect has happened, or is one of which nobody knows yet that nothing happened."""
    rows = tx.run("find_effect", org_id=org_id, key=key)
    return bool(rows) and rows[0].status != EffectStatus.FAILED.value


def began_at(tx: Transaction, org_id: UUID, key: str) -> datetime | None:
    """Since when a call of this effect may have been under way; None for one that nobody has begun."""
    rows = tx.run("find_effect", org_id=org_id, key=key)
    return rows[0].begun_at if rows else None


@dataclass(frozen=True, slots=True)
class Restoration:
    """To which moment the ledger was restored, and how many of its jobs may have gone on since, unknown to it."""

    lost_from: datetime
    restored_at: datetime
    open_jobs: int


def doubt_since(tx: Transaction, lost_from: datetime, by: Origin) -> Restoration:
    """Put in doubt what jobs of before may have done outside since a moment; raises `Invalid` for one to come."""
    rows = tx.run("record_restoration", lost_from=lost_from, actor=by.actor_id)
    if not rows:
        raise Invalid("to", "is still to come")
    return Restoration(**rows[0]._asdict())


def load_step(tx: Transaction, job_id: UUID, name: str) -> JsonObject | None:
    """A step's result from this or an earlier attempt."""
    rows = tx.raw(
        "select result from job_steps where job_id = %(job)s and name = %(name)s", {"job": job_id, "name": name}
    )
    return rows[0].result if rows else None


def save_step(
    tx: Transaction, job: ClaimedJob, name: str, result: JsonObject, cost_microcents: int, *, took: timedelta
) -> None:
    """Keep a step's result, whose work took so long; raises `ClaimLost`."""
    rows = tx.run(
        "save_step",
        job_id=job.job_id,
        token=job.token,
        name=name,
        result=Jsonb(redact_document(result)),
        cost=cost_microcents,
        took=took,
    )
    if not rows:
        raise ClaimLost(f"the claim was lost before step {name} was kept")
