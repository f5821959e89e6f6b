"""What the language model was paid for, recorded call by call whatever became of the answer."""

from dataclasses import asdict, dataclass
from datetime import timedelta
from uuid import UUID

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
    job_id: UUID | None = None


def record(tx: Transaction, org_id: UUID, account_id: UUID, call: ModelCall) -> bool:
    """Keep one call for an account of the org; false when its request id was recorded before, for it was paid once."""
    return bool(tx.run("record_model_call", org_id=org_id, account_id=account_id, **asdict(call)))


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
