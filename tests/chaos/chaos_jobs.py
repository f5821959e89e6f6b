"""The job types of a chaos run, loaded into a worker with `--include tests.chaos.chaos_jobs`."""

import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import wraps
from typing import Any, TypeVar

import tasks  # noqa: F401  # its walk registers all job types known by then; those below are registered after it
from domain.jobs.effects import Finding, Found, NotFound
from domain.jobs.failures import Permanent, Transient
from domain.jobs.job import Done, JsonObject, Outcome, Snooze
from domain.jobs.queues import Queue
from domain.jobs.retry import RetryPolicy
from domain.jobs.uniqueness import while_queued
from domain.payloads.payload import Payload
from engine.app import register
from engine.catalogue import Handler, Job, catalogue, job
from engine.context import JobContext
from storage.jobs import audit
from storage.postgres.database import Transaction
from tests.chaos.outside import Outside

MANY_ATTEMPTS = RetryPolicy("many-attempts", 8, timedelta(seconds=0.5), timedelta(seconds=2))
"""More attempts than one job can lose to killed workers within a run of minutes."""

DEADLINE = timedelta(seconds=60)
"""Far beyond what any of these jobs takes: an attempt that exceeds it was never rescued."""

CHILDREN = 2
WROTE = "chaos.wrote"

P = TypeVar("P", bound=Payload)


class Nothing(Payload):
    """No fields."""


class Duration(Payload):
    """How many milliseconds to wait."""

    ms: int


class Trouble(Payload):
    """How many attempts fail."""

    failures: int


class Account(Payload):
    """The account, which is the concurrency key, and how many milliseconds to wait."""

    account_id: str
    ms: int = 0


class Order(Payload):
    """The key of the effect, how many milliseconds its answer takes, and how many attempts are refused first."""

    key: str
    ms: int
    refusals: int = 0


class Snoozer(Payload, job_type="chaos_jobs.snoozer"):
    """When to end."""

    until: datetime


def wait(ms: int) -> None:
    """Wait, as for a provider's answer."""
    threading.Event().wait(ms / 1000)


def recorded(handler: Handler[P]) -> Handler[P]:
    """Record in the external system which process began each attempt."""

    @wraps(handler)
    def record_begin(ctx: JobContext, payload: P) -> Outcome | None:
        Outside.here().begin(ctx.job.job_id, ctx.job.attempt)
        return handler(ctx, payload)

    return record_begin


def chaos_job(queue: Queue) -> Callable[[Handler[P]], Job[P]]:
    """Make a job type as `@job` does, with this run's retry policy and deadline, and record each begin."""

    def make(handler: Handler[P]) -> Job[P]:
        return job(queue=queue, retry=MANY_ATTEMPTS, deadline=DEADLINE, audits=(WROTE,))(recorded(handler))

    return make


class Noop(Nothing, job_type="chaos_jobs.noop"): ...


@chaos_job(Queue.DEFAULT)
def noop(_ctx: JobContext, _payload: Noop) -> Outcome:
    """Do nothing."""
    return Done()


class Tick(Nothing, job_type="chaos_jobs.tick"): ...


@chaos_job(Queue.MAINTENANCE)
def tick(_ctx: JobContext, _payload: Tick) -> Outcome:
    """Do nothing; enqueued by beat."""
    return Done()


class IoBound(Duration, job_type="chaos_jobs.io_bound"): ...


@chaos_job(Queue.PLANNING)
def io_bound(ctx: JobContext, payload: IoBound) -> Outcome:
    """Wait, and check for a cancel request half-way."""
    wait(payload.ms // 2)
    ctx.check()
    wait(payload.ms // 2)
    return Done()


class Flaky(Trouble, job_type="chaos_jobs.flaky"): ...


@chaos_job(Queue.NOTIFICATIONS)
def flaky(ctx: JobContext, payload: Flaky) -> Outcome:
    """Fail in the first attempts."""
    if ctx.job.attempt <= payload.failures:
        raise Transient("a transient failure")
    return Done()


class Doomed(Trouble, job_type="chaos_jobs.doomed"): ...


@chaos_job(Queue.NOTIFICATIONS)
def doomed(_ctx: JobContext, payload: Doomed) -> Outcome:
    """Fail permanently; with `failures=0` by an unexpected exception, which ends in a dead letter."""
    if payload.failures:
        raise Permanent("no use")
    raise ZeroDivisionError("a bug")


class Turn(Account, job_type="chaos_jobs.turn", serial_by="account_id"): ...


@chaos_job(Queue.DEFAULT)
def turn(_ctx: JobContext, payload: Turn) -> Outcome:
    """Run one at a time per account."""
    wait(payload.ms)
    return Done()


class Single(Account, job_type="chaos_jobs.single", unique=while_queued("account_id")): ...


@chaos_job(Queue.DEFAULT)
def single(_ctx: JobContext, _payload: Single) -> Outcome:
    """Be queued once per account."""
    return Done()


class Parent(Nothing, job_type="chaos_jobs.parent"): ...


@chaos_job(Queue.EXPORTS)
def parent(ctx: JobContext, _payload: Parent) -> Outcome:
    """Enqueue children."""
    return Done(children=tuple(Noop().job(org_id=ctx.org_id) for _ in range(CHILDREN)))


class Effect(Order, job_type="chaos_jobs.effect"): ...


@chaos_job(Queue.CRITICAL)
def effect(ctx: JobContext, payload: Effect) -> Outcome:
    """Perform an external effect once; most of the call is waiting, so that a kill mostly comes after the effect."""
    return perform_effect(ctx, payload)


class QuickEffect(Order, job_type="chaos_jobs.quick_effect"): ...


@chaos_job(Queue.CRITICAL)
def quick_effect(ctx: JobContext, payload: QuickEffect) -> Outcome:
    """Perform an external effect once in milliseconds, in a batch with others that a kill ends too."""
    return perform_effect(ctx, payload)


def perform_effect(ctx: JobContext, payload: Order) -> Outcome:
    """Perform the effect by `ctx.effect`, with the payload's key."""
    outside = Outside.here()

    def call() -> JsonObject:
        if ctx.job.attempt <= payload.refusals:
            raise Transient("refused")
        outside.perform(payload.key)
        wait(payload.ms)
        return {"key": payload.key}

    def find() -> Finding:
        return Found({"key": payload.key, "found": True}) if outside.was_performed(payload.key) else NotFound()

    return Done(ctx.effect(payload.key, call, find=find))


class Posting(Duration, job_type="chaos_jobs.posting"): ...


@chaos_job(Queue.MAINTENANCE)
def posting(ctx: JobContext, payload: Posting) -> Outcome:
    """Write a row in the transaction that settles the job."""

    def write(tx: Transaction) -> None:
        audit.append(tx, ctx.job, WROTE, {})
        wait(payload.ms)

    return Done(writes=write)


@chaos_job(Queue.PLANNING)
def snoozer(ctx: JobContext, payload: Snoozer) -> Outcome:
    """Snooze until the given time."""
    return Done() if ctx.now() >= payload.until else Snooze(payload.until, "not yet")


KINDS: tuple[Job[Any], ...] = tuple(kind for kind in catalogue if kind.name.startswith("chaos_jobs."))
for kind in KINDS:
    register(kind)
