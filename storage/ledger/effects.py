"""Effects and steps as the ledger keeps them, every write under the claim that causes it."""

from dataclasses import dataclass
from uuid import UUID

from psycopg.types.json import Jsonb

from domain.jobs.effects import KEEP_EFFECT_FOR, Standing, Strategy
from domain.jobs.failures import ClaimLost
from domain.jobs.job import ClaimedJob, JsonObject
from storage.postgres.database import Transaction


@dataclass(frozen=True, slots=True)
class Intent:
    """What the ledger knew of an effect when this attempt wanted to begin it; `result` only when it is done."""

    standing: Standing
    result: JsonObject | None


def begin_effect(tx: Transaction, job: ClaimedJob, key: str, strategy: Strategy) -> Intent:
    """Write the intent to act, as the ledger role or in a tenant's transaction; raises `ClaimLost`."""
    rows = tx.run(
        "begin_effect",
        job_id=job.job_id,
        token=job.token,
        key=key,
        strategy=strategy.value,
        keep_for=KEEP_EFFECT_FOR,
    )
    if not rows:
        raise ClaimLost(f"the claim was lost before effect {key} began")
    return Intent(Standing(rows[0].what), rows[0].result)


def finish_effect(
    tx: Transaction,
    job: ClaimedJob,
    key: str,
    status: str,
    *,
    result: JsonObject | None = None,
    error: JsonObject | None = None,
) -> bool:
    """Record how an effect ended; false when the claim is lost and nothing was written."""
    rows = tx.run(
        "finish_effect",
        job_id=job.job_id,
        token=job.token,
        key=key,
        status=status,
        result=None if result is None else Jsonb(result),
        error=None if error is None else Jsonb(error),
    )
    return bool(rows[0].finished)


def load_step(tx: Transaction, job_id: UUID, name: str) -> JsonObject | None:
    """A step's result from this or an earlier attempt."""
    rows = tx.raw(
        "select result from job_steps where job_id = %(job)s and name = %(name)s", {"job": job_id, "name": name}
    )
    return rows[0].result if rows else None


def save_step(tx: Transaction, job: ClaimedJob, name: str, result: JsonObject, cost_microcents: int) -> None:
    """Keep a step's result; raises `ClaimLost`."""
    rows = tx.run(
        "save_step", job_id=job.job_id, token=job.token, name=name, result=Jsonb(result), cost=cost_microcents
    )
    if not rows:
        raise ClaimLost(f"the claim was lost before step {name} was kept")
