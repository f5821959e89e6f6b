"""Runs one claimed job: calls its handler and decides by what that returns or raises. The only broad except is here."""

import hashlib
import json
import logging
import traceback
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NamedTuple, TypeVar

from domain.clean_text import clean_text, texts_of
from domain.jobs.failures import Busy, ClaimLost, Failure, Invalid, Transient
from domain.jobs.job import Cancel, ClaimedJob, Done, JsonObject, Outcome, Snooze
from domain.jobs.lifecycle import Settlement, settlement_of
from domain.jobs.nesting import MOST_LEVELS, nests_too_deep
from domain.jobs.results import LARGEST_KEPT
from domain.orgs.privacy.redaction import redact_text
from engine.broker.births import Birth
from engine.catalogue import Job, catalogue
from engine.context import JobContext
from engine.enqueue import LARGEST_FAMILY, leave_jobs, publish_after_commit, ready_children
from engine.interrupts import Canceled, Interrupted
from engine.runtime import Runtime
from observability import traces
from observability.job_spans import attempt_span, note_end
from observability.logs import sanitise
from storage.jobs import ledger
from storage.jobs.answers import Settled
from storage.postgres.execution import DatabaseUnavailable, RowLocked, is_away
from storage.postgres.transaction import Asked, Transaction

T = TypeVar("T")
RECORDS = logging.getLogger("job")
"""Asked before a record of every job is made: what is not logged must cost nothing."""


DATABASE_AWAY_WAIT = timedelta(seconds=5)
"""A job that has lost its session did nothing wrong: a server that restarts takes the sessions of all jobs."""
ROW_LOCKED_WAIT = timedelta(seconds=2)
"""How long a job rests that found a row of its org locked. Twenty such ways back cost no attempt, and outlast the 15 s
after which PostgreSQL ends the session of a worker that is frozen inside a transaction."""


class Bug(Transient):
    """Something that is no failure of ours escaped a handler: retried, logged with a fingerprint, then dead."""

    code = "bug"


class AttemptResult(NamedTuple):
    """What one attempt came to: its status, and what is still to be written, if anything is."""

    status: str
    settlement: Settlement | None = None


def run_attempt(runtime: Runtime, job_type: Job[Any], job: ClaimedJob, began_at: datetime) -> AttemptResult:
    """Run one claimed job up to its settlement, which the ledger loop writes together with others'.

    A success with domain rows is written here, in a transaction of its own. What the attempt enqueues and calls is
    traced under it.
    """
    if not traces.is_on():
        return _run(runtime, job_type, job, began_at)
    with attempt_span(job) as (span, traced):
        result = _run(runtime, job_type, traced, began_at)
        note_end(span, result.status, result.settlement)
        return result


def _run(runtime: Runtime, job_type: Job[Any], job: ClaimedJob, began_at: datetime) -> AttemptResult:
    context = JobContext(runtime, job, began_at, providers=job_type.providers, role=job_type.role)
    children: str | None = None
    outcome = execute(context, job_type)
    is_apart = isinstance(outcome, Done) and outcome.writes is not None
    if isinstance(outcome, Done) and outcome.children and not is_apart:
        ready = _outcome_of(context, partial(ready_children, runtime, [job.child(one) for one in outcome.children]))
        if not isinstance(ready, str):
            outcome = ready
        elif len(ready) > LARGEST_FAMILY:
            is_apart = True  # other jobs' ends would wait for so many
        else:
            children = ready
    if isinstance(outcome, Done) and is_apart:
        written = _outcome_of(context, partial(_commit, runtime, context, outcome))
        if written is None:
            return AttemptResult("succeeded")
        outcome = written
    try:
        settlement = decide(runtime, context, job_type, outcome)._replace(children=children)
        if settlement.output is not None:
            check_output(settlement.output)
        return AttemptResult(_status(outcome, settlement), settlement)
    except Exception as error:  # noqa: BLE001 - what cannot be settled must not spoil the settlements of others
        return fail_attempt(runtime, context, job_type, error)


def fail_attempt(runtime: Runtime, context: JobContext, job_type: Job[Any], error: Exception) -> AttemptResult:
    """The result of an attempt whose outcome cannot be written."""
    failure = error if isinstance(error, Failure) else _bug(context, error)
    settlement = decide(runtime, context, job_type, failure)
    return AttemptResult(settlement.state.value, settlement)


def never_ran(runtime: Runtime, job_type: Job[Any], job: ClaimedJob, began_at: datetime, problem: str) -> AttemptResult:
    """The result of an attempt that Celery could not bring to its handler."""
    context = JobContext(runtime, job, began_at)
    return fail_attempt(runtime, context, job_type, Bug(f"celery: {redact_text(problem)[:500]}"))


def unwritable(runtime: Runtime, job: ClaimedJob, failure: Failure, began_at: datetime | None) -> AttemptResult:
    """The result of an attempt whose settlement PostgreSQL refused."""
    job_type = catalogue.find(job.job_type)
    if job_type is None:
        return AttemptResult("returned", Settlement.unstarted(job, "unknown type"))
    return fail_attempt(runtime, JobContext(runtime, job, began_at), job_type, failure)


def check_output(output: JsonObject) -> None:
    """Raise when a job's output is no JSON, or `Invalid` when nobody could keep or read it."""
    if output == {}:
        return
    if not isinstance(output, dict):
        raise Invalid("output", "is no JSON object")
    if nests_too_deep(output):
        raise Invalid("output", f"nests more than {MOST_LEVELS} levels deep")
    written = json.dumps(output, allow_nan=False)
    if len(written) > LARGEST_KEPT:
        raise Invalid("output", f"has more than {LARGEST_KEPT} bytes; what is larger is an artifact")
    # Written down, a NUL looks like the six letters that somebody may have written: the values tell them apart.
    if "\\u" in written and any(clean_text(one) != one for one in texts_of(output)):
        raise Invalid("output", "carries a NUL or half a character, which PostgreSQL cannot store")


def execute(context: JobContext, job_type: Job[Any]) -> Outcome | Failure:
    """Call the handler and return what it returned or raised; whatever escapes it is a bug of ours."""
    return _outcome_of(context, partial(_call, context, job_type))


def _call(context: JobContext, job_type: Job[Any]) -> Outcome:
    job = context.job
    if RECORDS.isEnabledFor(logging.INFO):
        context.log.info("job_started")
    payload = job_type.read(job.payload, job.payload_version)
    holds = job_type.holds
    if holds is not None:
        context.hold_in_writes(lambda tx: holds(tx, payload))
    outcome = job_type.handler(context, payload)
    if outcome is None:
        return Done()
    if not isinstance(outcome, Done | Snooze | Cancel):
        raise TypeError(f"the handler returned {type(outcome).__name__}, which is no outcome")
    return outcome


def _commit(runtime: Runtime, context: JobContext, done: Done) -> None:
    """Write the outcome's domain rows, its children and the settlement in one transaction, which holds the claim.

    Raises `ClaimLost`, and whatever `writes` raises; nothing is written then. It is not tried again while the database
    is away: `writes` may have changed what the handler holds.
    """
    job = context.job
    context.is_committing = True
    with runtime.births.claiming() as birth, context.tx() as tx:
        output = done.output | ((done.writes and done.writes(tx)) or {})
        tx.restore()
        check_output(output)
        fresh = {hint.job_id for hint in tx.hints}.union(leave_jobs(tx, [job.child(child) for child in done.children]))
        slots = birth.take(len(fresh) + 1)  # a hook may put a job in place, too
        settled = ledger.settle_held(
            tx, job, output, context.cost_microcents, began_at=context.began_at, fresh=sorted(fresh), slots=slots
        )
        tx.after_commit(partial(_settled, runtime, tx, birth, settled))


def _settled(runtime: Runtime, tx: Transaction, birth: Birth, settled: Asked[Settled]) -> None:
    """Note what the settlement has claimed, and have the hints of all others published."""
    publish_after_commit(runtime, tx, settled.answer.hints)
    birth.claimed(tx, settled.answer.born)


def _outcome_of(context: JobContext, call: Callable[[], T]) -> T | Cancel | Failure:
    """What the call returned or raised."""
    try:
        return call()
    except Canceled as canceled:
        return _outcome_of(context, partial(_cancel, context, canceled))
    except RowLocked:
        return Busy("somebody else has locked a row that the job needs", wait=ROW_LOCKED_WAIT)
    except DatabaseUnavailable as away:
        # What PostgreSQL ended for a deadlock or for its time may be the job's own fault, and counts.
        return Busy(f"the database was away: {away.reason}", wait=DATABASE_AWAY_WAIT) if is_away(away) else away
    except Failure as failure:
        return failure
    except Exception as error:  # noqa: BLE001 - the border of our handlers: no bug may take the worker down
        return _bug(context, error)


def _cancel(context: JobContext, canceled: Canceled) -> Cancel:
    """The outcome; no other attempt follows, so what is known of the job's calls is recorded now."""
    context.record_known()
    return Cancel(canceled.reason)


def _status(outcome: Outcome | Failure, settlement: Settlement) -> str:
    return "returned" if isinstance(outcome, Interrupted | ClaimLost) else settlement.state.value


def decide(runtime: Runtime, context: JobContext, job_type: Job[Any], outcome: Outcome | Failure) -> Settlement:
    """What is to be written about the attempt."""
    job = context.job
    if isinstance(outcome, Interrupted):
        return Settlement.returned(job, outcome.reason).begun(context.began_at)
    return settlement_of(
        job,
        outcome,
        job_type.retry,
        runtime.clock(),
        runtime.jitter(),
        began_at=context.began_at,
        cost_microcents=context.cost_microcents,
    )


def _bug(context: JobContext, error: Exception) -> Bug:
    fingerprint = _fingerprint(error)
    context.log.error("job_bug", fingerprint=fingerprint, exc_info=error)
    return Bug(f"{sanitise(error)} [{fingerprint}]")


def _fingerprint(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    place = "|".join(f"{frame.filename.rpartition('/')[2]}:{frame.name}" for frame in frames[-3:])
    return hashlib.sha256(f"{type(error).__name__}|{place}".encode()).hexdigest()[:12]
