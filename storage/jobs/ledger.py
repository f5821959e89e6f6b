"""Enqueues, claims, settles and cancels jobs, and renews leases; statements over many jobs take arrays."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from operator import attrgetter
from uuid import UUID, uuid4

from psycopg.types.json import Jsonb

from domain.jobs.job import ClaimedJob, Enqueued, Hint, JsonObject, NewJob, Origin, State
from domain.jobs.lifecycle import MOST_REFUSED_SUSPECTS, SUSPECT_REST, CloseGate, Settlement
from domain.jobs.scheduling.backlog_demand import Cursors, Demand
from domain.orgs.privacy.redaction import redact_document, redact_text
from storage.jobs.answers import (
    CLAIM_COLUMNS,
    NO_SLOTS,
    SETTLE_COLUMNS,
    ClaimResult,
    Settled,
    Slots,
    read_claims,
    read_settled,
    read_settlement,
)
from storage.jobs.requests import Requests, as_parameters, as_requests
from storage.postgres.arrays import array, column
from storage.postgres.database import TenantTransaction, Transaction
from storage.postgres.execution import Row
from storage.postgres.transaction import Asked

NO_DEMAND: Demand = {}
NO_CURSORS: Cursors = {}

NO_OUTPUT: JsonObject = {}

OVER = frozenset({"expired", "canceled"})
"""What the ledger answers to a claim of a job that must end instead."""

ENQUEUE_COLUMNS = ("job_id", "job_type", "queue", "created", "publish")
"""Of the answer to an enqueue of many."""


@dataclass(frozen=True, slots=True)
class Worker:
    """One process that runs jobs: its row holds the lease of all its claims."""

    worker_id: UUID
    node_id: UUID
    hostname: str
    pid: int
    version: str = ""
    """Of which release it is."""
    queues: tuple[str, ...] = ()
    """Those that it serves, by their names in the ledger."""
    slots: int = 0
    """How many jobs it runs at a time."""
    own_job_types: tuple[str, ...] = ()
    """Those of packages that it has beside the fleet's own."""


@dataclass(frozen=True, slots=True)
class Moved:
    """Jobs that moved, and hints to publish because a concurrency key became free."""

    job_ids: frozenset[UUID]
    hints: tuple[Hint, ...]
    locked: frozenset[UUID] = frozenset()
    """Jobs that should have moved and that somebody else has locked."""


def enqueue(
    tx: Transaction,
    jobs: Sequence[NewJob],
    *,
    publisher: bool,
    hint_timeout: timedelta,
    burst: int = 20,
    job_ids: Sequence[UUID] = (),
) -> tuple[Enqueued, ...]:
    """Insert jobs in the caller's transaction, in the given order; those with a taken key name the job that has it.

    At most `burst` due jobs of an org and queue are for the caller to publish; the others wait for the relay. `job_ids`
    are for jobs that bring none.
    """
    if not jobs:
        return ()
    if len(jobs) == 1 and not job_ids and burst > 0:
        return (enqueue_one(tx, jobs[0], publisher=publisher, hint_timeout=hint_timeout).answer,)
    return enqueue_requests(tx, as_requests(jobs, job_ids), publisher=publisher, hint_timeout=hint_timeout, burst=burst)


def enqueue_one(tx: Transaction, job: NewJob, *, publisher: bool, hint_timeout: timedelta) -> Asked[Enqueued]:
    """Insert one job by the statement that is made for one, which takes a fraction of the other's time."""
    return tx.leave("enqueue_job", _enqueued, **as_parameters(job), publisher=publisher, hint_timeout=hint_timeout)


def _enqueued(rows: Sequence[Row]) -> Enqueued:
    (row,) = rows
    return Enqueued(Hint(row.job_id, row.job_type, row.queue), row.created, row.publish)


def enqueue_requests(
    tx: Transaction, asked: Requests, *, publisher: bool, hint_timeout: timedelta, burst: int
) -> tuple[Enqueued, ...]:
    """Insert the jobs that these requests are for; see `enqueue`."""
    rows = tx.tuples(
        "enqueue_jobs", ENQUEUE_COLUMNS, requests=asked, publisher=publisher, hint_timeout=hint_timeout, burst=burst
    )
    return tuple(
        Enqueued(Hint(job_id, job_type, queue), created, publish) for job_id, job_type, queue, created, publish in rows
    )


def claim(  # noqa: PLR0913 - what a process says of itself and of what it wants
    tx: Transaction,
    job_ids: Sequence[UUID],
    worker_id: UUID,
    *,
    lease: timedelta,
    demand: Demand = NO_DEMAND,
    cursors: Cursors = NO_CURSORS,
    token: UUID | None = None,
    alone: bool = True,
) -> ClaimResult:
    """Take queued jobs for a process; each begins in its turn (`record_starts`).

    A suspect is claimed only where the process is `alone` with it: it holds nothing else, and asks for nothing else.
    It begins with its claim. `demand` brings jobs from backlogs along, as many as there are, from the `cursors` on.

    With the job's id, `token` names each claim, so that who lost the answer can still give them back; by default a
    fresh one.
    """
    token = token or uuid4()
    rows = tx.tuples(
        "claim_jobs",
        CLAIM_COLUMNS,
        job_ids=array(job_ids),
        queues=array(key.queue for key in demand),
        priorities=array(key.priority for key in demand),
        org_ids=array(key.org_id for key in demand),
        counts=array(demand.values()),
        cursors=column(cursors.get(key) for key in demand),
        token=token,
        worker_id=worker_id,
        lease=lease,
        alone=alone,
        suspects_rest=SUSPECT_REST,
        most_suspect=MOST_REFUSED_SUSPECTS,
    )
    return read_claims(rows, token, list(demand))


def end_unclaimed(tx: Transaction, job_ids: Sequence[UUID]) -> None:
    """End those jobs that a claim refused because they are expired or canceled; in a statement after the claim's."""
    if job_ids:
        tx.run("end_unclaimed", job_ids=list(job_ids))


def settle(
    tx: Transaction,
    settlements: Sequence[Settlement],
    *,
    hint_timeout: timedelta = timedelta(seconds=30),
    burst: int = 20,
    slots: Slots = NO_SLOTS,
) -> Settled:
    """Write what became of jobs, of those whose claims still hold, and enqueue their children as `enqueue` does.

    Of these, and of what hooks put in place, jobs that nothing keeps back are claimed for the `slots`.
    """
    # All writers lock jobs by their ids: two that settle the same ones must not wait for each other.
    settlements = sorted(settlements, key=attrgetter("job_id.int"))
    rows = tx.tuples(
        "settle_jobs",
        SETTLE_COLUMNS,
        job_ids=array([s.job_id for s in settlements]),
        tokens=array([s.token for s in settlements]),
        states=column([s.state for s in settlements], State.SUCCEEDED),
        run_ats=column([s.run_at for s in settlements]),
        attempt_deltas=column([s.attempt_delta for s in settlements], 0),
        loss_deltas=column([s.loss_delta for s in settlements], 0),
        started_ats=column([s.started_at for s in settlements]),
        outputs=column([s.output and redact_document(s.output) for s in settlements], NO_OUTPUT),
        errors=column([s.error and redact_document(s.error) for s in settlements]),
        costs=column([s.cost_microcents for s in settlements], 0),
        reasons=column([s.reason and redact_text(s.reason) for s in settlements]),
        details=column([redact_document(s.detail) if s.detail else None for s in settlements]),
        suspects=column([s.suspect for s in settlements], absent=False),
        return_deltas=column([s.returns for s in settlements], 0),
        gates=column([None if s.gate is None else _gate(s.gate) for s in settlements]),
        children=column([s.children for s in settlements]),
        hint_timeout=hint_timeout,
        burst=burst,
        born_by=slots.worker_id,
        **slots.as_parameters(),
    )
    return read_settled(rows, slots)


def _gate(gate: CloseGate) -> JsonObject:
    return redact_document(
        {
            "scope": gate.scope.value,
            "key": gate.key,
            "cause": gate.cause.value,
            "reason": gate.reason,
            "until": gate.until and gate.until.isoformat(),
            "grows": gate.grows,
        }
    )


def settle_free(
    tx: Transaction,
    settlements: Sequence[Settlement],
    *,
    hint_timeout: timedelta = timedelta(seconds=30),
    burst: int = 20,
    slots: Slots = NO_SLOTS,
) -> Settled:
    """As `settle`, for those jobs that nobody else has locked, in the caller's transaction."""
    asked = [settlement.job_id for settlement in settlements]
    locked = frozenset(asked) - frozenset(lock_free(tx, asked))
    free = [settlement for settlement in settlements if settlement.job_id not in locked]
    if not free:
        return Settled((), (), locked)
    return replace(settle(tx, free, hint_timeout=hint_timeout, burst=burst, slots=slots), locked=locked)


def record_starts(tx: Transaction, starts: Sequence[tuple[UUID, UUID, datetime]]) -> frozenset[UUID]:
    """Write when claimed jobs began (id, token, time), and return those jobs.

    One that has ended meanwhile is passed over, and so is one that its handler has locked.
    """
    rows = tx.run(
        "start_jobs",
        job_ids=array(job_id for job_id, _, _ in starts),
        tokens=array(token for _, token, _ in starts),
        started_ats=array(at for _, _, at in starts),
    )
    return frozenset(row.id for row in rows)


def renew_lease(tx: Transaction, worker: Worker, lease: timedelta) -> datetime:
    """Register a process, or renew its lease; returns the database's time."""
    facts = asdict(worker) | {"queues": list(worker.queues), "own_job_types": list(worker.own_job_types)}
    at: datetime = tx.run("renew_lease", **facts, lease=lease)[0].at
    return at


def read_time(tx: Transaction) -> datetime:
    """The database's time."""
    at: datetime = tx.raw("select clock_timestamp() as at")[0].at
    return at


def cancel(
    tx: Transaction,
    job_ids: Sequence[UUID],
    reason: str,
    *,
    by: Origin,
    org_id: UUID | None = None,
    facts: JsonObject | None = None,
) -> dict[UUID, str]:
    """Ask for jobs to be canceled; returns the state of each that was not final yet.

    `facts` are added to each entry of the audit log.
    """
    rows = tx.run(
        "cancel_jobs",
        job_ids=list(job_ids),
        reason=reason,
        details=Jsonb({"reason": reason, **(facts or {})}),
        org_id=org_id,
        actor_type=by.actor_type.value,
        actor_id=by.actor_id,
    )
    return {row.id: row.state for row in rows}


def lock_free(tx: Transaction, job_ids: Sequence[UUID]) -> list[UUID]:
    """Lock those of these jobs, with their guards, that nobody else has locked; until the transaction ends."""
    return [row.id for row in tx.run("lock_free_jobs", job_ids=list(job_ids))]


def cancel_free(tx: Transaction, job_id: UUID, reason: str, *, by: Origin) -> bool:
    """Ask to cancel a job, unless somebody has; false where somebody has locked the job, who is not waited for."""
    free = bool(lock_free(tx, [job_id]))
    # In a statement of its own, which sees what was committed before the lock.
    wanted = tx.raw(
        "select id from jobs where id = %(id)s and finished_at is null and cancel_requested_at is null", {"id": job_id}
    )
    if free and wanted:
        cancel(tx, [job_id], reason, by=by)
    return free or not wanted


def hold_claim(tx: Transaction, job_id: UUID, token: UUID) -> None:
    """Keep a held job's claim until the transaction's end; raises `ClaimLost` when it is not held any more."""
    tx.raw("select postroom.hold_claim(%(job)s, %(token)s)", {"job": job_id, "token": token})


def cancel_requested(tx: Transaction, job_id: UUID, token: UUID) -> str | None:
    """Why a held job should stop, or None; raises `ClaimLost` when it is not held any more. Locks nothing."""
    if isinstance(tx, TenantTransaction) and tx.holds == (job_id, token):
        return tx.cancel_reason
    reason: str | None = tx.run("look_at_claim", job_id=job_id, token=token)[0].reason
    return reason


def settle_held(  # noqa: PLR0913 - what a success consists of
    tx: Transaction,
    job: ClaimedJob,
    output: JsonObject,
    cost_microcents: int,
    *,
    began_at: datetime,
    fresh: Sequence[UUID] = (),
    slots: Slots = NO_SLOTS,
) -> Asked[Settled]:
    """Make a held job succeeded in the caller's transaction; its hints are of jobs that waited for the job's end.

    Of these, and of the `fresh` jobs that the transaction has enqueued, some are claimed for the `slots`.
    """
    return tx.leave(
        "settle_held",
        partial(read_settlement, slots),
        job_id=job.job_id,
        token=job.token,
        output=Jsonb(redact_document(output)),
        cost=cost_microcents,
        began_at=began_at,
        fresh=array(fresh),
        **slots.as_parameters(),
    )


def claim_children(tx: Transaction, job: ClaimedJob, fresh: Sequence[UUID], slots: Slots) -> Settled:
    """Claim for the `slots` some of the jobs that a held job has enqueued in the caller's transaction."""
    rows = tx.tuples(
        "claim_children",
        SETTLE_COLUMNS,
        job_id=job.job_id,
        token=job.token,
        fresh=array(fresh),
        **slots.as_parameters(),
    )
    return read_settled(rows, slots)


def record_progress(tx: Transaction, job: ClaimedJob, document: JsonObject) -> bool:
    """Keep how far a job is; false when its claim is lost."""
    rows = tx.raw(
        "update jobs set progress = %(progress)s where id = %(job)s and claim_token = %(token)s returning id",
        {"progress": Jsonb(redact_document(document)), "job": job.job_id, "token": job.token},
    )
    return bool(rows)


def woken(rows: Sequence[Row]) -> tuple[Hint, ...]:
    """Of a statement's rows, those of jobs that waited for a concurrency key."""
    return tuple(Hint(row.id, row.job_type, row.queue) for row in rows if row.what == "woken")
