"""What becomes of a job: the table of allowed moves, and one pure function from an outcome to a settlement."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple
from uuid import UUID

from domain.clean_text import clean_text
from domain.jobs.failures import (
    Busy,
    ClaimLost,
    CredentialsLost,
    Failure,
    ForOtherWorker,
    InFlight,
    Invalid,
    OverBudget,
    Scope,
    Throttled,
    Transient,
    Unauthorised,
    Uncertain,
)
from domain.jobs.gate_causes import Cause
from domain.jobs.job import FINAL, Cancel, ClaimedJob, Done, JsonObject, Outcome, Snooze, State
from domain.jobs.retry import LEAST_REST, MOST_RETURNS, MOST_SNOOZES, FreeReturn, RetryPolicy, free_wait

MOVES: frozenset[tuple[State, State]] = frozenset(
    {
        (State.QUEUED, State.CLAIMED),
        (State.QUEUED, State.RUNNING),  # a suspect, which begins with its claim
        (State.QUEUED, State.CANCELED),  # canceled or expired before a claim
        (State.CLAIMED, State.RUNNING),
        (State.CLAIMED, State.QUEUED),  # the process died or stopped before it began
        *((State.CLAIMED, end) for end in FINAL),  # started and ended within one batch
        (State.RUNNING, State.QUEUED),  # retry, snooze, rescue, shutdown
        *((State.RUNNING, end) for end in FINAL),
    }
)

MAX_LOSSES = 3
"""A job that took its process down this often is poison: more tries would only take more processes down."""

SUSPECT_REST = timedelta(seconds=5)
"""How long a suspect rests that a process did not claim because it held other jobs."""

MOST_REFUSED_SUSPECTS = 10
"""A suspect that was put off this often runs beside others: where jobs are long, no worker is ever empty."""

LONG_WAIT = timedelta(minutes=10)
REST_BEHIND_GATE = timedelta(minutes=1)
"""A wait above `LONG_WAIT`, as for a refused key or a spent month, ends when a person opens the gate. It keeps the job
back like all others; the job's own time is short, so that it goes on with them."""

LONGEST_GATE_REASON = 1000

THROTTLE_JITTER = timedelta(seconds=2)
"""Spreads the jobs that wait for one provider, so that they do not all come back at the same moment."""

NO_DETAIL: JsonObject = {}
"""The detail of an attempt that succeeded; one for all of them, and nobody writes into it."""


@dataclass(frozen=True, slots=True)
class CloseGate:
    """Keeps a scope's jobs in their queues until a time; without a time, until somebody opens it."""

    cause: Cause
    scope: Scope
    key: str
    reason: str
    until: datetime | None
    grows: bool = False
    """Whether the time is a guess: closed again soon after it, the gate stays closed for twice as long."""


class Settlement(NamedTuple):
    """What is written about one attempt, named by job and claim token."""

    job_id: UUID
    token: UUID
    state: State
    run_at: datetime | None = None
    attempt_delta: int = 0
    loss_delta: int = 0
    started_at: datetime | None = None
    """When the attempt began; None for a claim that was given back before its handler ran."""
    output: JsonObject | None = None
    error: JsonObject | None = None
    reason: str | None = None
    cost_microcents: int = 0
    detail: JsonObject = NO_DETAIL
    suspect: bool = False
    """Whether the job may be what ended its process: the next attempt then runs alone in its worker."""
    returns: int = 0
    """1 for a way back that spent no attempt and is counted: the ledger keeps the sum (`MOST_RETURNS`)."""
    gate: CloseGate | None = None
    children: str | None = None
    """Jobs that are enqueued with a success, as JSON (`storage.jobs.requests`)."""

    @classmethod
    def returned(
        cls, job: ClaimedJob, reason: str, *, cause: str = "shutdown", until: datetime | None = None
    ) -> "Settlement":
        """The attempt is given back untouched, because its process stops or has too little lease left.

        A suspect stays one: its attempt did not come to an end.
        """
        detail = {"cause": cause, "reason": reason}
        return cls(
            job.job_id, job.token, State.QUEUED, run_at=until, attempt_delta=-1, detail=detail, suspect=job.suspect
        )

    @classmethod
    def unstarted(cls, job: ClaimedJob, cause: str, until: datetime | None = None) -> "Settlement":
        """The claim is given back before its handler ran: no attempt is spent.

        Only the ledger knows whether the claim counted an attempt; it is given back then. A suspect stays one.
        """
        return cls(
            job.job_id,
            job.token,
            State.QUEUED,
            run_at=until,
            attempt_delta=-1,
            detail={"cause": cause},
            suspect=job.suspect,
        )

    def begun(self, at: datetime | None, *, cost_microcents: int = 0) -> "Settlement":
        """The same settlement of an attempt that began at `at`, if it began, with what it cost."""
        return self._replace(started_at=at, cost_microcents=cost_microcents)


def settlement_of(  # noqa: PLR0913 - what is known of an attempt
    job: ClaimedJob,
    outcome: Outcome | Failure,
    policy: RetryPolicy,
    now: datetime,
    jitter: float,
    *,
    began_at: datetime | None = None,
    cost_microcents: int = 0,
) -> Settlement:
    """Decide what becomes of a job after one attempt, which began at `began_at` and cost so much.

    Raises `Invalid` for an outcome that says nothing definite: a snooze until a time without a zone.

    A claim that is lost is given back all the same: its token matches nothing then. But a lease that ran short in the
    process may still be in the ledger, be renewed a moment later, and keep the job from everybody.
    """
    if isinstance(outcome, Done):
        return Settlement(
            job.job_id,
            job.token,
            State.SUCCEEDED,
            started_at=began_at,
            output=outcome.output,
            cost_microcents=cost_microcents,
        )
    return _settlement_undone(job, outcome, policy, now, jitter).begun(began_at, cost_microcents=cost_microcents)


def _settlement_undone(
    job: ClaimedJob, outcome: Snooze | Cancel | Failure, policy: RetryPolicy, now: datetime, jitter: float
) -> Settlement:
    match outcome:
        case Snooze(until=until, reason=reason):
            if until.utcoffset() is None:
                raise Invalid("until", "has no time zone")
            return _snoozed(job, max(until, now + LEAST_REST), clean_text(reason))
        case Cancel(reason=reason):
            kept = clean_text(reason)
            return Settlement(job.job_id, job.token, State.CANCELED, reason=kept, detail={"reason": kept})
        case ClaimLost() | InFlight() | Busy() | ForOtherWorker():
            return _given_back(job, outcome, policy, now, jitter)
        case Failure():
            return _settlement_of_failure(job, outcome, policy, now, jitter)


def _snoozed(job: ClaimedJob, until: datetime, reason: str) -> Settlement:
    if job.returns < MOST_SNOOZES:
        back = _requeue(job, until, {"cause": "snooze", "reason": reason}, attempt_delta=-1)
        return back._replace(returns=1)
    error = {"code": "snoozed", "reason": f"came back {job.returns} times: {reason}"[:2000], "attempt": job.attempt}
    if job.attempt >= job.max_attempts:
        return _end(job, State.DEAD, error)
    return _requeue(job, until, {"cause": "snooze", "error": error}, error=error)


def _given_back(job: ClaimedJob, failure: FreeReturn, policy: RetryPolicy, now: datetime, jitter: float) -> Settlement:
    cause, wait = free_wait(failure, job.returns)
    if job.returns >= MOST_RETURNS:
        # Each further one spends an attempt.
        spent = Transient(failure.reason, code=failure.code)
        return _settlement_of_failure(job, spent, replace(policy, least=wait), now, jitter)
    back = Settlement.returned(job, failure.reason, cause=cause, until=now + wait)
    return back._replace(returns=1)


class LossCause(StrEnum):
    """Why a claim was lost."""

    LOST = "lost"
    """Its process fell silent or died."""
    DEADLINE = "deadline"
    """The attempt took longer than its job type allows; the process may be well."""


class LostClaim(NamedTuple):
    """A claim that was lost, and what is known of it."""

    job_id: UUID
    token: UUID
    attempt: int
    """The number of the attempt that was lost; of one that had not begun, the number of attempts before it."""
    max_attempts: int
    losses: int
    """How many claims of the job were lost before by its own fault."""
    returns: int
    """How often the job went back before without having spent an attempt."""
    began: bool
    """Whether the attempt is known to have begun."""
    alone: bool
    """Whether no other job can have run in the process."""
    cause: LossCause
    cancel_reason: str | None = None
    """Why somebody asked to cancel the job; None when nobody did."""

    @property
    def guilty(self) -> bool:
        """Whether it was the job's own fault: nobody else was there, or it alone took too long."""
        return self.began and (self.alone or self.cause is LossCause.DEADLINE)

    @property
    def excused(self) -> bool:
        """Whether the attempt is given back: it was perhaps a neighbour that ended the process."""
        return self.began and not self.guilty and self.returns < MOST_RETURNS


def lose(job: ClaimedJob, *, guilty: bool) -> Settlement:
    """Decide what becomes of a job that had begun in a child process that died; see `lose_claim`.

    The parent knows which job the child was running, alone, when it died. So the others are no suspects, and the guilty
    one endangers at most its next child.
    """
    lost = LostClaim(
        job_id=job.job_id,
        token=job.token,
        attempt=job.attempt,
        max_attempts=job.max_attempts,
        losses=job.losses,
        returns=job.returns,
        began=True,
        alone=guilty,
        cause=LossCause.LOST,
    )
    return lose_claim(lost)._replace(suspect=False)


def lose_claim(lost: LostClaim, now: datetime | None = None) -> Settlement:
    """Decide what becomes of a job whose claim was lost; with a time, a job that is charged rests.

    A loss is charged to a job that ran alone when its process died, or that outran its deadline; one that keeps doing
    so is poison. Of several jobs in a process that died nobody knows which one ended it: none is charged, each is given
    its attempt back, and each is suspect, so that it runs alone next time. So is one that is not known to have begun:
    its start may have been lost with the process. A job that somebody asked to cancel is canceled in every case. A job
    that is charged rests: what kills one process after another must not meet the same innocent job each time.
    """
    losses = lost.losses + lost.guilty
    error = _loss_error(lost, losses) if lost.began else None
    if lost.cancel_reason is not None:
        state = State.CANCELED
    elif lost.began and not lost.excused and (lost.attempt >= lost.max_attempts or losses >= MAX_LOSSES):
        state = State.DEAD
    else:
        state = State.QUEUED
    excused = lost.excused and state is State.QUEUED
    suspect = state is State.QUEUED and lost.cause is LossCause.LOST
    rests_until = now + SUSPECT_REST * 3**lost.losses if now and suspect and lost.guilty else None
    return Settlement(
        lost.job_id,
        lost.token,
        state,
        run_at=rests_until,
        attempt_delta=-int(excused),
        loss_delta=int(lost.guilty),
        # A job that is tried again does not carry the error of a neighbour in its process.
        error=error if lost.guilty or state is State.DEAD else None,
        reason=lost.cancel_reason,
        detail={"cause": lost.cause.value, "losses": losses} | ({"error": error} if error else {}),
        suspect=suspect,
        returns=int(excused),
    )


def _loss_error(lost: LostClaim, losses: int) -> JsonObject:
    if lost.cause is LossCause.DEADLINE:
        code, reason = "deadline", "the attempt outran its deadline"
    else:
        code = "poison" if lost.guilty and losses >= MAX_LOSSES else "lost"
        reason = "the worker process was lost"
    return {"code": code, "reason": reason, "attempt": lost.attempt}


def _settlement_of_failure(
    job: ClaimedJob, failure: Failure, policy: RetryPolicy, now: datetime, jitter: float
) -> Settlement:
    error = describe(failure, job.attempt)
    match failure:
        case Throttled(retry_after=wait, scope=scope, provider=provider, grows=grows):
            until = now + max(wait, LEAST_REST)
            key = _gate_key(job, scope, provider)
            gate = CloseGate(Cause.SLOW_DOWN, scope, key, _gate_reason(failure), until, grows)
            rests_until = until if wait <= LONG_WAIT else now + REST_BEHIND_GATE
            return _requeue(
                job,
                rests_until + THROTTLE_JITTER * jitter,
                {"cause": "throttled", "error": error},
                attempt_delta=-1,
                gate=gate,
            )
        case Unauthorised() | CredentialsLost() | OverBudget():
            # Somebody may open the gate before the cause is gone.
            parking = _parking_gate(job, failure)
            return _requeue(job, now + LEAST_REST, {"cause": "parked", "error": error}, attempt_delta=-1, gate=parking)
        case Uncertain() | Invalid():
            return _end(job, State.DEAD, error)
        case Transient() if job.attempt < job.max_attempts:
            policy = policy.for_job(job.retry_base_s, job.retry_cap_s)
            return _requeue(
                job, now + policy.delay(job.attempt, jitter), {"cause": "failure", "error": error}, error=error
            )
        case Failure(permanent=True):
            return _end(job, State.FAILED, error)
        case _:
            return _end(job, State.DEAD, error)


def _parking_gate(job: ClaimedJob, failure: Unauthorised | CredentialsLost | OverBudget) -> CloseGate | None:
    """The gate that keeps the job's kin back; a budget's was closed together with the look at the money."""
    match failure:
        case Unauthorised(account=account):
            return CloseGate(Cause.CONSENT, Scope.ACCOUNT, account, _gate_reason(failure), None)
        case CredentialsLost(provider=provider):
            key = _gate_key(job, Scope.ORG_PROVIDER, provider)
            return CloseGate(Cause.CONSENT, Scope.ORG_PROVIDER, key, _gate_reason(failure), None)
        case OverBudget():
            return None


def _gate_reason(failure: Failure) -> str:
    prefix = "needs_reconsent: " if isinstance(failure, Unauthorised) else ""
    return f"{prefix}{clean_text(failure.reason)}"[:LONGEST_GATE_REASON] or failure.code


def describe(failure: Failure, attempt: int) -> JsonObject:
    """A failure as it is kept, in text that can be: code, reason and attempt; no payload, no traceback, no secret."""
    return {"code": clean_text(failure.code), "reason": clean_text(failure.reason)[:2000], "attempt": attempt}


def _requeue(
    job: ClaimedJob,
    run_at: datetime,
    detail: JsonObject,
    *,
    attempt_delta: int = 0,
    error: JsonObject | None = None,
    gate: CloseGate | None = None,
) -> Settlement:
    return Settlement(
        job.job_id,
        job.token,
        State.QUEUED,
        run_at=run_at,
        attempt_delta=attempt_delta,
        error=error,
        detail=detail | {"run_at": run_at.isoformat()},
        gate=gate,
    )


def _end(job: ClaimedJob, state: State, error: JsonObject) -> Settlement:
    return Settlement(job.job_id, job.token, state, error=error, detail={"error": error})


def _gate_key(job: ClaimedJob, scope: Scope, provider: str) -> str:
    match scope:
        case Scope.ACCOUNT:
            return str(job.payload.get("account_id", job.job_id))
        case Scope.ORG:
            return str(job.org_id)
        case Scope.PROVIDER:
            return provider
        case Scope.ORG_PROVIDER:
            return f"{job.org_id}:{provider}"
