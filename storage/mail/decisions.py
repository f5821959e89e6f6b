"""What was decided about each message, and the actions that followed."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from domain.jobs.job import JsonObject
from domain.mail.actions.requested_action import VERSION
from domain.mail.triage.classification import Classification, Decision, DecisionSource
from domain.mail.triage.models_asked import ModelsAsked
from domain.mail.triage.safety import CheckedAction
from storage.postgres.database import Transaction
from storage.postgres.execution import Row
from storage.postgres.transaction import Asked, found


@dataclass(frozen=True, slots=True)
class Recorded:
    """A decision's id and its actions' in the order given; `created` is false when the job had decided before."""

    decision_id: UUID
    action_ids: tuple[UUID, ...]
    created: bool


@dataclass(frozen=True, slots=True)
class PastDecision:
    """A decision as it was recorded."""

    decision_id: UUID
    source: DecisionSource
    classification: Classification
    confidence: float
    rationale: str
    needs_reply: bool
    needs_review: bool
    caution: bool
    label_ids: tuple[str, ...]
    rule_ids: tuple[str, ...]
    model: str | None
    undecided_by: str | None
    """The models and prompt that gave no answer to use, where nobody decided."""
    job_id: UUID | None
    at: datetime


@dataclass(frozen=True, slots=True)
class PastDecisions:
    """What a job finds that is about to decide."""

    final: UUID | None
    """The latest decision that stands. A message without an answer to use is paid for, or refused, once per models and
    prompt; another model or prompt may do better."""
    latest: UUID | None
    """The latest decision of all."""
    was_undecided: bool
    """Whether the latest left the message to its person."""

    @property
    def was_decided(self) -> bool:
        """Whether another job has decided about it at all."""
        return self.latest is not None


@dataclass(frozen=True, slots=True)
class Origins:
    """What led to a decision: the job that made it, the model that was asked, the rules that matched.

    `undecided_by` names the models and prompt without an answer to use (`domain.mail.triage.models_asked`).
    """

    job_id: UUID | None = None
    model: str | None = None
    rule_ids: tuple[str, ...] = ()
    undecided_by: str | None = None


def record(
    tx: Transaction,
    account_id: UUID,
    message_id: str,
    decision: Decision,
    *,
    actions: Sequence[CheckedAction] = (),
    origins: Origins = Origins(),
) -> Asked[Recorded]:
    """Keep a decision about a stored message with its checked actions; once per message and job."""
    return tx.ask(
        "record_decision",
        found(
            f"message {message_id} is not stored",
            lambda row: Recorded(row.decision_id, tuple(row.action_ids), row.created),
        ),
        account_id=account_id,
        message_id=message_id,
        job_id=origins.job_id,
        model=origins.model,
        rule_ids=list(origins.rule_ids),
        undecided_by=origins.undecided_by,
        actions=Jsonb([_asked(action) for action in actions]),
        **_decision_columns(decision),
    )


def of_message(tx: Transaction, account_id: UUID, message_id: str, *, limit: int = 50) -> tuple[PastDecision, ...]:
    """What was decided about a message, the latest first."""
    rows = tx.run("list_decisions", account_id=account_id, message_id=message_id, limit=limit)
    return tuple(_decision(row) for row in rows)


def by_others(
    tx: Transaction, account_id: UUID, message_id: str, *, job_id: UUID, models: ModelsAsked
) -> Asked[PastDecisions]:
    """What other jobs have decided about a message, for the models that would be asked now."""
    where = {"account_id": account_id, "message_id": message_id}
    return tx.ask("find_earlier_decisions", _past, job_id=job_id, asked=models.name, **where)


def get(tx: Transaction, account_id: UUID, decision_id: UUID) -> Row | None:
    """A decision with the names of its rules; None when retention has taken it."""
    return next(iter(tx.run("get_decision", account_id=account_id, decision_id=decision_id)), None)


def _past(rows: Sequence[Row]) -> PastDecisions:
    latest = max(rows, key=lambda row: (row.at, row.decision_id), default=None)
    return PastDecisions(
        final=next((row.decision_id for row in rows if row.is_final), None),
        latest=None if latest is None else latest.decision_id,
        was_undecided=latest is not None and latest.undecided_by is not None,
    )


def _decision_columns(decision: Decision) -> dict[str, Any]:
    return {
        "source": str(decision.source),
        "classification": str(decision.classification),
        "confidence": decision.confidence,
        "rationale": decision.rationale,
        "needs_reply": decision.needs_reply,
        "needs_review": decision.needs_review,
        "caution": decision.caution,
        "label_ids": list(decision.labels),
    }


def _asked(action: CheckedAction) -> JsonObject:
    return {
        "kind": str(action.action.kind),
        "parameters": action.action.parameters,
        "version": VERSION,
        "danger": str(action.danger),
        "reasons": list(action.reasons),
        "state": str(action.status),
    }


def _decision(row: Row) -> PastDecision:
    words = {"source": DecisionSource(row.source), "classification": Classification(row.classification)}
    lists = {"label_ids": tuple(row.label_ids), "rule_ids": tuple(row.rule_ids)}
    return PastDecision(**(row._asdict() | words | lists))
