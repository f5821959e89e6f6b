"""What a handler may do: touch its org's rows under its claim, keep steps, cause effects once, stop when asked."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import cached_property
from operator import attrgetter
from threading import Event
from typing import Any, TypeVar, Unpack
from uuid import UUID

import structlog

from domain.jobs.effects import Finding, Strategy
from domain.jobs.failures import ClaimLost, Forbidden, Invalid
from domain.jobs.job import SYSTEM_ORG, ClaimedJob, Enqueued, JsonObject
from domain.jobs.retention import RUN, pause_after
from domain.payloads.payload import JobOptions, Payload, jobs_of
from engine.effects import AttemptEffects, EffectGuard, Hold
from engine.enqueue import enqueue_jobs
from engine.handler_settings import HandlerSettings
from engine.interrupts import Canceled, Interrupted
from engine.model_budget import ModelBudget
from engine.runtime import Runtime
from providers.ports import Meter
from storage.jobs import effects, ledger
from storage.orgs.secrets.sealing import Sealer
from storage.postgres.apart import WITHIN_S_OF_JOB, together_or_apart
from storage.postgres.database import TenantTransaction, Transaction
from storage.postgres.logins import TENANT_ROLE

T = TypeVar("T")
ORG_OF: Callable[[Any], UUID] = attrgetter("org_id")

CHECK_EVERY_S = 1.0
"""How long a canceled job goes on at most while it only calculates."""


class JobContext:
    """One attempt at one job. Every write it makes names the attempt's claim (promise P4)."""

    def __init__(
        self,
        runtime: Runtime,
        job: ClaimedJob,
        began_at: datetime | None = None,
        *,
        providers: Sequence[str] = (),
        role: str = TENANT_ROLE,
    ) -> None:
        """Bind the attempt to the process it runs in; `providers` and `role` are those that its job type names."""
        self._runtime = runtime
        self._role = role
        self._providers = providers
        self.job = job
        self.began_at = began_at or runtime.clock()
        self.cost_microcents = 0
        self._effects = AttemptEffects()
        self._checked_at = float("-inf")
        self.is_committing = False
        """Whether the handler has returned and its outcome's `writes` run."""

    @cached_property
    def log(self) -> Any:  # noqa: ANN401 - structlog's bound loggers share no type
        """A logger that names the job in every record; made when it is asked for, for most jobs say nothing."""
        job = self.job
        return structlog.get_logger("job").bind(
            job_id=str(job.job_id),
            job_type=job.job_type,
            org_id=str(job.org_id),
            project_id=job.project_id and str(job.project_id),
            attempt=job.attempt,
            request_id=job.origin.request_id,
            correlation_id=job.origin.correlation_id,
            traceparent=job.origin.traceparent,
        )

    @property
    def org_id(self) -> UUID:
        """The org whose rows this job may see."""
        return self.job.org_id

    @property
    def settings(self) -> HandlerSettings:
        """What of the settings a handler may read."""
        return HandlerSettings.of(self._runtime.settings)

    @property
    def sealer(self) -> Sealer:
        """Opens and seals tokens."""
        return self._runtime.sealer

    def meter(self, provider: str, account: str = "") -> Meter:
        """What a provider's client asks before each call, for one account or, without one, for the installation.

        It raises `Throttled` when the call would exceed a limit. Raises `Invalid` for a provider without known limits.
        """
        return self._runtime.meters.meter(provider, account)

    @cached_property
    def budget(self) -> ModelBudget:
        """The org's money for paid calls, and the only way to make one."""
        return ModelBudget(self._runtime, self.job, self._providers, add_cost=self._add_cost, enqueue=self.enqueue)

    def shared(self, key: str, make: Callable[[], T]) -> T:
        """The process's one object of that key, such as a client of a vendor; `make` is called once.

        The threads of the process share it, and it outlives the job: it must not hold the job's context. A forked child
        makes its own.
        """
        return self._runtime.shared(key, make)

    def now(self) -> datetime:
        """The present, with its zone, by the database's clock, as are all times of jobs: the machine's may be wrong."""
        return self._runtime.clock()

    @property
    def clock(self) -> Callable[[], datetime]:
        """What tells the present as `now` does, for a client that outlives the job."""
        return self._runtime.clock

    def hold_in_writes(self, hold: Hold) -> None:
        """Begin each writing transaction of the attempt with `hold`: `tx`, the intents of effects, the settlement."""
        self._effects.hold = hold

    @contextmanager
    def tx(self) -> Iterator[TenantTransaction]:
        """Open a short transaction on the org's rows that holds the claim, and what the job type `holds`.

        Raises `ClaimLost`, and what ends the job. Keep the network out.
        """
        job, births = self.job, self._runtime.births
        claim = (job.org_id, job.job_id, job.token, job.project_id)
        with births.claiming() as birth, self._runtime.database.claimed(*claim, role=self._role) as transaction:
            self._effects.begin_transaction(transaction)
            yield transaction
            # A settlement claims for itself.
            if transaction.hints and not self.is_committing and (slots := birth.take(len(transaction.hints))).most:
                transaction.restore()
                birth.claimed(transaction, ledger.claim_children(transaction, job, transaction.hints, slots).born)

    @contextmanager
    def read(self, *, locks: bool = False) -> Iterator[TenantTransaction]:
        """As `tx`, for what is decided first: nothing that the job type `holds` ends the job.

        It only reads; with `locks` it holds the claim, and rows may be locked.
        """
        job, database = self.job, self._runtime.database
        opened = database.claimed if locks else database.reading
        with opened(job.org_id, job.job_id, job.token, job.project_id, role=self._role) as transaction:
            yield transaction

    @contextmanager
    def fleet(self) -> Iterator[Transaction]:
        """Open a transaction over all orgs, for housekeeping of the system org only; holds the claim."""
        if self.job.org_id != SYSTEM_ORG:
            raise Forbidden("only the system org's jobs may look across orgs")
        with self._runtime.database.ledger() as transaction:
            ledger.hold_claim(transaction, self.job.job_id, self.job.token)
            yield transaction

    @contextmanager
    def read_snapshot(self) -> Iterator[TenantTransaction]:
        """As `read`, for what is read in several statements and must have been so at one moment."""
        job = self.job
        with self._runtime.database.reading(
            job.org_id, job.job_id, job.token, job.project_id, is_snapshot=True, role=self._role
        ) as transaction:
            yield transaction

    def enqueue(self, tx: Transaction, *payloads: Payload, **options: Unpack[JobOptions]) -> tuple[Enqueued, ...]:
        """Enqueue a child per payload in this job's own transaction.

        They inherit its org, actor, request and trace. Raises `ValueError` for several under one idempotency key.
        """
        return enqueue_jobs(tx, [self.job.child(job) for job in jobs_of(payloads, org_id=self.org_id, **options)])

    def enqueue_owed(self, tx: Transaction, payload: Payload, **options: Unpack[JobOptions]) -> Enqueued:
        """Enqueue a job that is owed whatever becomes of this one, as one that takes back what this one does.

        It inherits the same and is no child: a cancellation of this job, or of one that led to it, leaves it.
        """
        (job,) = jobs_of([payload], org_id=self.org_id, **options)
        (made,) = enqueue_jobs(tx, [self.job.child(job)._replace(parent_id=None)])
        return made

    def step(
        self, name: str, work: Callable[[], JsonObject], *, cost: Callable[[JsonObject], int] | None = None
    ) -> JsonObject:
        """Do work once per job: a later attempt gets the kept result. `cost` reads microcents off the result."""
        self.check()
        kept = self.kept(name)
        if kept is not None:
            return kept
        began = time.monotonic()
        result = work()
        took = timedelta(seconds=time.monotonic() - began)
        spent = cost(result) if cost else 0
        self._add_cost(spent)
        with self._runtime.database.statements() as transaction:
            effects.save_step(transaction, self.job, name, result, spent, took=took)
        return result

    def kept(self, name: str) -> JsonObject | None:
        """The result of a step of this job, from this or an earlier attempt; None when there is none."""
        with self._runtime.database.statements() as transaction:
            return effects.load_step(transaction, self.job.job_id, name)

    def effect(
        self,
        key: str,
        call: Callable[[], JsonObject],
        *,
        find: Callable[[], Finding] | None = None,
        strategy: Strategy = Strategy.FIND,
    ) -> JsonObject:
        """Change the outside world at most once per key; returns the call's result, from this or an earlier attempt.

        Raises `Uncertain` when nobody can know whether it happened, `InFlight` while an earlier attempt's call may
        still be under way, `Busy` while another job is at it, `ClaimLost`, what `call` raises, and `ValueError` for a
        native key: see `keyed_effect`.
        """
        if strategy is Strategy.NATIVE_KEY:
            raise ValueError("an effect with a native key is a keyed_effect: the provider compares what is sent")
        self.check()
        return self._guard(key, strategy).once(call, find)

    def keyed_effect(self, key: str, request: bytes, call: Callable[[bytes], JsonObject]) -> JsonObject:
        """Change the outside world at most once, where the provider deduplicates by the key and the bytes sent.

        `call` gets the bytes to send: those of an earlier attempt, if its answer was lost. They stand in the ledger
        while the effect is in doubt. Raises as `effect`.
        """
        self.check()
        guard = self._guard(key, Strategy.NATIVE_KEY, request)
        return guard.once(lambda: call(guard.request), None)

    def effect_with_request(
        self,
        key: str,
        request: bytes,
        call: Callable[[], JsonObject],
        find: Callable[[bytes | None], Finding],
    ) -> JsonObject:
        """As `effect`, where another attempt or job may have begun it with another request: where to, since when.

        `find` gets the request of the call that is in doubt; None where nobody kept one. `call` acts by
        `request`, which is kept from before the call until it is known how that ended.
        """
        self.check()
        guard = self._guard(key, Strategy.FIND, request)
        return guard.once(call, lambda: find(guard.first_request))

    def begin_effect(
        self, tx: Transaction, key: str, strategy: Strategy = Strategy.FIND, request: bytes = b""
    ) -> EffectGuard:
        """Write an effect's intent together with other rows of the caller's transaction; commit it before the call.

        For effects whose intent or result is committed with rows of the handler (`EffectGuard`). Raises as `effect`;
        within `EffectGuard.record_with` the new effect's `carry_out` raises what stops the job. The call sends the
        guard's `request`: what an earlier attempt sent, if its answer was lost.
        """
        guard = self._guard(key, strategy, request)
        guard.begin(tx, self._go_on)
        return guard

    def record_known(self) -> None:
        """Record the results of calls that the attempt knows of and has not recorded: no other attempt will."""
        self._effects.record_known()

    def _guard(self, key: str, strategy: Strategy, request: bytes = b"") -> EffectGuard:
        return EffectGuard(
            self._runtime, self.job, self.log, key, strategy, request, opens=self.tx, shared=self._effects
        )

    def check(self) -> None:
        """Stop here when the job was canceled, the process is stopping, or the claim is lost."""
        with self._runtime.database.statements() as transaction:
            self._go_on(transaction)

    def check_often(self) -> None:
        """As `check`, which asks the database, and once a second only: for a loop of many short steps."""
        now = self._runtime.monotonic()
        if now - self._checked_at >= CHECK_EVERY_S:
            self._checked_at = now
            self.check()

    def at_pace(self, batch: Callable[[], bool]) -> bool:
        """Run batches of maintenance at their rate, until none is left or the run's time is over.

        `batch` says whether there may be more, and so does this.
        """
        began = self.now()
        while True:
            batch_began = self.now()
            is_more = batch()
            ended = self.now()
            if not is_more or ended - began >= RUN:
                return is_more
            Event().wait(pause_after((ended - batch_began).total_seconds()))
            self.check()

    def for_orgs(
        self,
        items: Sequence[T],
        do: Callable[[Transaction, Sequence[T]], Mapping[str, int]],
        counts: Counter[str],
        org_of: Callable[[T], UUID] = ORG_OF,
    ) -> list[T]:
        """Do what is about many orgs in one transaction of the fleet, and org by org where somebody has locked a row.

        What `do` says of a transaction is added to `counts` when it has committed. Returns the items that were put off.
        """

        def carry_out(some: Sequence[T]) -> None:
            with self.fleet() as tx:
                tx.wait_briefly()
                done = do(tx, some)
            counts.update(done)

        return together_or_apart(items, org_of, carry_out, within_s=WITHIN_S_OF_JOB).all

    def _add_cost(self, microcents: int) -> None:
        if microcents < 0:
            raise Invalid("cost", "is below zero: nothing gives an org its money back")
        self.cost_microcents += microcents

    def _go_on(self, tx: Transaction) -> None:
        if self._runtime.stopping.is_set():
            raise Interrupted("the worker is stopping")
        reason = ledger.cancel_requested(tx, self.job.job_id, self.job.token)
        if reason is not None:
            raise Canceled(reason)

    def progress(self, document: JsonObject) -> None:
        """Report how far the job is; shown to operators, overwritten by the next.

        Raises `Invalid` inside an outcome's `writes`, whose transaction locks the job's row.
        """
        if self.is_committing:
            raise Invalid("progress", "cannot be reported inside `writes`, whose transaction locks the job's row")
        with self._runtime.database.statements() as transaction:
            if not ledger.record_progress(transaction, self.job, document):
                raise ClaimLost("the claim was lost before progress was recorded")
