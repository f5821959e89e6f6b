"""What the language model was paid for, recorded call by call whatever became of the answer."""

from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import NamedTuple
from uuid import UUID

from psycopg.types.json import Jsonb

from domain.jobs.job import ClaimedJob, JsonObject
from domain.orgs.privacy.redaction import redact_document
from storage.postgres.database import Transaction


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One paid call: tokens as billed, cost in millionths of a US cent, and why the answer was refused, if it was."""

    purpose: str
    model: str
    stop_reason: str
    cost_microcents: int
    input_tokens: int = 0
    output_tokens: int = 0
    cache_creation_5m_tokens: int = 0
    cache_creation_1h_tokens: int = 0
    cache_read_tokens: int = 0
    request_id: str | None = None
    refusal: str | None = None


class KeptAnswer(NamedTuple):
    """What a later attempt at the job gets instead of paying again, under the name of a step; `took` is the call's."""

    step: str
    result: JsonObject
    took: timedelta


def book(
    tx: Transaction,
    job: ClaimedJob,
    reservation_id: UUID,
    call: ModelCall,
    *,
    account_id: UUID | None = None,
    kept: KeptAnswer | None = None,
) -> bool:
    """Charge what was set aside for a call; list it for an account; keep its answer under the job's claim.

    False when there is no answer to keep, or the claim is lost. What is told twice is charged and listed once.
    """
    rows = tx.run(
        "book_call",
        reservation_id=reservation_id,
        job_id=job.job_id,
        token=job.token,
        org_id=job.org_id,
        account_id=account_id,
        step=kept and kept.step,
        result=kept and Jsonb(redact_document(kept.result)),
        took=kept and kept.took,
        **asdict(call),
    )
    return bool(rows[0].is_kept)


@dataclass(frozen=True, slots=True)
class AnswerCounts:
    """How many calls there were, how many gave no answer to use, and why the vendor refused the latest, if it did."""

    calls: int
    unusable: int
    latest: str


def count_unusable(tx: Transaction, *, within: timedelta) -> AnswerCounts:
    """The calls of all orgs within this time; as the ledger role only."""
    row = tx.run("count_unusable_answers", within=within)[0]
    return AnswerCounts(row.calls, row.unusable, row.latest or "")
