"""The reference page of failures: what each means, and what becomes of its job, asked of the rule itself."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from domain.approvals.decision import Refusal, RefusedDecision
from domain.documents.faults import Fault, Faults, RefusedDocument
from domain.jobs.failures import (
    Busy,
    ClaimLost,
    Conflict,
    CredentialsLost,
    Failure,
    Forbidden,
    ForOtherWorker,
    Gone,
    InFlight,
    Invalid,
    OverBudget,
    Permanent,
    Refused,
    Scope,
    Throttled,
    Transient,
    Unauthorised,
    Uncertain,
)
from domain.jobs.job import ClaimedJob, Origin, State
from domain.jobs.lifecycle import settlement_of
from domain.jobs.retry import STANDARD
from domain.orgs.access.operators import NotProven
from engine.interrupts import Canceled, Interrupted
from engine.worker.runner import Bug
from storage.orgs.secrets.sealing import SealBroken, UnknownSealKey
from storage.postgres.execution import ConnectionLost, DatabaseUnavailable, RowLocked, StatementAborted
from tasks.mail.steps.mailbox_session import Disconnected
from tools.reference_text import page, phrase, table

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NOBODY = UUID(int=0)

RAISED: tuple[Failure, ...] = (
    Transient("-"),
    StatementAborted("-"),
    Bug("-"),
    Throttled("-", retry_after=timedelta(minutes=1), scope=Scope.ACCOUNT, provider="-"),
    Unauthorised("-", account="-"),
    CredentialsLost("-", provider="-"),
    OverBudget("-"),
    Permanent("-"),
    Refused("-"),
    Gone("-"),
    Conflict("-"),
    RefusedDecision(Refusal.DECIDED, "-"),
    Forbidden("-"),
    NotProven("-"),
    SealBroken("-"),
    Invalid("-", "-"),
    RefusedDocument(Faults(listed=[Fault((), "-")])),
    Uncertain("-"),
    InFlight("-", wait=timedelta(minutes=1)),
    Busy("-", wait=timedelta(minutes=1)),
    ForOtherWorker("-"),
    UnknownSealKey("-"),
    ClaimLost("-"),
)
"""One of each kind that `domain.jobs.lifecycle.settlement_of` decides about."""

BY_THE_RUNNER = (
    (Canceled("-"), "`canceled`"),
    (Disconnected("-"), "`canceled`"),
    (RowLocked("-"), "`queued`, the attempt given back"),
    (DatabaseUnavailable("-"), "`queued`, the attempt given back"),
    (ConnectionLost("-"), "`queued`, the attempt given back"),
    (Interrupted("-"), "`queued`, the attempt given back"),
)
"""Those that the runner answers itself, before the rule is asked."""


def failures_page() -> str:
    """Every failure with what becomes of the job at the first and at the last attempt."""
    rows = [(*_named(one), _new_state(one, 1), _new_state(one, STANDARD.attempts)) for one in RAISED]
    rows += [(*_named(one), new_state, new_state) for one, new_state in BY_THE_RUNNER]
    return page(
        "Failures",
        "A handler raises one of these, and the engine decides what becomes of the job. The code is what the ledger"
        " keeps; a provider may replace it by a narrower code, such as `gmail.authError`.",
        table(("failure", "code", "meaning", "at an early attempt", "at the last attempt"), rows),
        "Anything else that escapes a handler is a bug: it is logged with a fingerprint and treated as `Bug`.",
    )


def _named(failure: Failure) -> tuple[str, str, str]:
    kind = type(failure)
    return f"`{kind.__name__}`", f"`{kind.code}`", phrase(kind.__doc__)


def _new_state(failure: Failure, attempt: int) -> str:
    settlement = settlement_of(_attempt(attempt), failure, STANDARD, NOW, 0.0)
    if isinstance(failure, ClaimLost):
        return "nothing is written, or the attempt given back if the claim stands after all"
    new_state = f"`{settlement.state.value}`"
    if settlement.state is not State.QUEUED:
        return new_state
    kept = "the attempt given back" if settlement.attempt_delta < 0 else "by its retry policy"
    gate = f", a gate closed for the {settlement.gate.scope.value}" if settlement.gate else ""
    return f"{new_state}, {kept}{gate}"


def _attempt(number: int) -> ClaimedJob:
    return ClaimedJob(
        job_id=NOBODY,
        token=NOBODY,
        job_type="-",
        queue="-",
        org_id=NOBODY,
        project_id=None,
        payload={},
        payload_version=1,
        attempt=number,
        max_attempts=STANDARD.attempts,
        losses=0,
        deadline=timedelta(minutes=1),
        origin=Origin(),
        created_at=NOW,
    )
