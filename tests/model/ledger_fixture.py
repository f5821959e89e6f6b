"""The real ledger that the model is compared with: a PostgreSQL database, emptied before each example."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from psycopg import Connection

from domain.jobs.failures import Failure, Invalid, Permanent, Scope, Throttled, Transient, Unauthorised
from domain.jobs.job import Cancel, ClaimedJob, Done, Outcome, Snooze
from domain.jobs.lifecycle import Settlement, lose, settlement_of
from domain.jobs.retry import LEAST_REST, RetryPolicy
from storage.jobs import ledger, recovery
from storage.jobs import relay as relay_statements
from storage.jobs.ledger import Worker
from storage.postgres.database import Database
from tests.doubles.factories import make_job_type, make_org
from tests.model.ledger_model import DEADLINE, DELAY, KINDS, REST

EMPTY = (
    "set session_replication_role = replica; delete from audit_entries; delete from dead_letters;"
    " delete from serial_slots; delete from idempotency_keys; delete from gates; delete from orgs_over_burst;"
    " delete from workers; delete from jobs; set session_replication_role = default"
)
"""Without triggers, because the audit log refuses deletes. Truncating so many tables takes far longer."""

WAIT = timedelta(seconds=DELAY)
POLICY = RetryPolicy("model", 3, WAIT, WAIT)


@dataclass(frozen=True)
class Verbs:
    """The ledger's functions; a test replaces one by a broken one, which the model must find."""

    claim: Callable[..., Any] = ledger.claim
    settle: Callable[..., Any] = ledger.settle
    settle_held: Callable[..., Any] = ledger.settle_held
    record_starts: Callable[..., Any] = ledger.record_starts
    rescue: Callable[..., Any] = recovery.rescue
    return_claims: Callable[..., Any] = recovery.return_claims
    return_unanswered: Callable[..., Any] = recovery.return_unanswered
    recall_hints: Callable[..., Any] = relay_statements.recall_hints


class LedgerFixture:
    """The database, with two orgs, two processes and the model's job types."""

    def __init__(self, store: Database, owner: Connection) -> None:
        """Prepare once; call `empty` before each example."""
        self.store, self.owner = store, owner
        self.orgs = [make_org(owner, "one org"), make_org(owner, "another org")]
        self.workers = [Worker(uuid4(), uuid4(), "host", pid) for pid in (1, 2)]
        for kind in KINDS.values():
            make_job_type(
                store,
                kind.name,
                queue=kind.queue,
                max_attempts=kind.max_attempts,
                deadline=timedelta(seconds=DEADLINE),
                unique_mode=kind.unique,
                unique_fields=("account_id",) if kind.unique else None,
                serial_field="account_id" if kind.slots else None,
                serial_limit=kind.slots or 1,
                providers=(kind.provider,) if kind.provider else (),
            )

    def empty(self) -> None:
        """Delete every job."""
        self.owner.execute(EMPTY)

    def rows(self) -> dict[UUID, tuple[Any, ...]]:
        """What the ledger says of each job."""
        rows = self.owner.execute(
            "select id, state, attempt, losses, suspect, free_returns, claim_token, worker_id,"
            " cancel_requested_at is not null"
            " from jobs"
        )
        return {row[0]: tuple(row[1:]) for row in rows}


def settlement(job: ClaimedJob, outcome: str) -> Settlement:
    """The settlement that a worker writes for this outcome of an attempt."""
    now = datetime.now(UTC)
    match outcome:
        case "unstarted":
            return Settlement.unstarted(job, "shutdown")
        case "interrupted":
            made = Settlement.returned(job, "the worker stops")
        case "died" | "died_beside":
            made = lose(job, guilty=outcome == "died")
        case "unauthorised":
            later = now + timedelta(seconds=REST) - LEAST_REST
            made = settlement_of(job, _said(job, outcome, now), POLICY, later, 0.0)
        case _:
            made = settlement_of(job, _said(job, outcome, now), POLICY, now, 1.0 if outcome == "transient" else 0.0)
    return made.begun(now)


def _said(job: ClaimedJob, outcome: str, now: datetime) -> Outcome | Failure:
    account = str(job.payload["account_id"])
    said: dict[str, Outcome | Failure] = {
        "done": Done(),
        "cancel": Cancel("pointless"),
        "snooze": Snooze(now + WAIT, "later"),
        "transient": Transient("try again"),
        "throttled": Throttled("slowly", retry_after=WAIT, scope=Scope.ACCOUNT, provider="gmail"),
        "unauthorised": Unauthorised("no consent", account=account),
        "invalid": Invalid("field", "reason"),
        "permanent": Permanent("never"),
    }
    return said[outcome]
