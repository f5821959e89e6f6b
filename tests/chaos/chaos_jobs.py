"""The job types of a chaos run, loaded into a worker with `--include tests.chaos.chaos_jobs`."""

import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import wraps
from typing import Any, TypeVar

from domain.jobs.effects import Finding, Found, NotFound
from domain.jobs.failures import Permanent, Transient
from domain.jobs.job import Done, JsonObject, Outcome, Snooze
from domain.jobs.queues import Queue
from domain.jobs.retry import RetryPolicy
from domain.jobs.uniqueness import Unique, while_queued
from domain.payloads.payload import Payload
from engine.app import register
from engine.catalogue import Handler, Job, catalogue, job
from engine.context import JobContext
from storage.ledger import audit
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


class Wait(Payload):
    """How many milliseconds to wait."""

    ms: int


class Trouble(Payload):
    """How many attempts fail."""

    failures: int


class Account(Payload):
    """The account, which is the concurrency key, and how many milliseconds to wait."""

    account_id: str
    ms: int = 0


class Effect(Payload):
    """The key of the effect, how many milliseconds its answer takes, and how many attempts are refused first."""

    key: str
    ms: int
    refusals: int = 0


class Appointment(Payload):
    """When to end."""

    until: datetime


def wait(ms: int) -> None:
    """Wait, as for a provider's answer."""
    threading.Event().wait(ms / 1000)


def recorded(handler: Handler[P]) -> Handler[P]:
    """Record in the external system which process began each attempt."""

    @wraps(handler)
    def record_begin(ctx: JobContext, payload: P) -> Outcome:
        Outside.here().begin(ctx.job.job_id, ctx.job.attempt)
        return handler(ctx, payload)

    return record_begin


def chaos_job(
    queue: Queue, *, unique: Unique | None = None, serial_by: str | None = None, light: bool = False
) -> Callable[[Handler[P]], Job[P]]:
    """Make a job type as `@job` does, with this run's retry policy and deadline, and record each begin."""

    def make(handler: Handler[P]) -> Job[P]:
        common: dict[str, Any] = {"retry": MANY_ATTEMPTS, "deadline": DEADLINE}
        register_as = job(queue=queue, unique=unique, serial_by=serial_by, light=light, **common)
        return register_as(recorded(handler))

    return make


@chaos_job(Queue.DEFAULT)
def noop(_ctx: JobContext, _payload: Nothing) -> Outcome:
    """Do nothing."""
    return Done()


@chaos_job(Queue.DEFAULT, light=True)
def light_noop(_ctx: JobContext, _payload: Nothing) -> Outcome:
    """Do nothing, as a light job."""
    return Done()


@chaos_job(Queue.MAINTENANCE)
def tick(_ctx: JobContext, _payload: Nothing) -> Outcome:
    """Do nothing; enqueued by beat."""
    return Done()


@chaos_job(Queue.PLANNING)
def io_bound(ctx: JobContext, payload: Wait) -> Outcome:
    """Wait, and check for a cancel request half-way."""
    wait(payload.ms // 2)
    ctx.check()
    wait(payload.ms // 2)
    return Done()


@chaos_job(Queue.NOTIFICATIONS)
def flaky(ctx: JobContext, payload: Trouble) -> Outcome:
    """Fail in the first attempts."""
    if ctx.job.attempt <= payload.failures:
        raise Transient("a transient failure")
    return Done()


@chaos_job(Queue.NOTIFICATIONS)
def doomed(_ctx: JobContext, payload: Trouble) -> Outcome:
    """Fail permanently; with `failures=0` by an unexpected exception, which ends in a dead letter."""
    if payload.failures:
        raise Permanent("no use")
    raise ZeroDivisionError("a bug")


@chaos_job(Queue.DEFAULT, serial_by="account_id")
def turn(_ctx: JobContext, payload: Account) -> Outcome:
    """Run one at a time per account."""
    wait(payload.ms)
    return Done()


@chaos_job(Queue.DEFAULT, unique=while_queued("account_id"))
def single(_ctx: JobContext, _payload: Account) -> Outcome:
    """Be queued once per account."""
    return Done()


@chaos_job(Queue.EXPORTS)
def parent(ctx: JobContext, _payload: Nothing) -> Outcome:
    """Enqueue children."""
    return Done(children=tuple(noop.new(Nothing(), org_id=ctx.org_id) for _ in range(CHILDREN)))


@chaos_job(Queue.CRITICAL)
def effect(ctx: JobContext, payload: Effect) -> Outcome:
    """Perform an external effect once; most of the call is waiting, so that a kill mostly comes after the effect."""
    return perform_effect(ctx, payload)


@chaos_job(Queue.CRITICAL, light=True)
def light_effect(ctx: JobContext, payload: Effect) -> Outcome:
    """Perform an external effect once as a light job, in a batch with others that a kill ends too."""
    return perform_effect(ctx, payload)


def perform_effect(ctx: JobContext, payload: Effect) -> Outcome:
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


@chaos_job(Queue.MAINTENANCE)
def posting(ctx: JobContext, payload: Wait) -> Outcome:
    """Write a row in the transaction that settles the job."""

    def write(tx: Transaction) -> None:
        audit.append(tx, ctx.job, WROTE, {})
        wait(payload.ms)

    return Done(writes=write)


@chaos_job(Queue.PLANNING)
def snoozer(ctx: JobContext, payload: Appointment) -> Outcome:
    """Snooze until the given time."""
    return Done() if ctx.now() >= payload.until else Snooze(payload.until, "not yet")


KINDS: tuple[Job[Any], ...] = tuple(kind for kind in catalogue if kind.name.startswith("chaos_jobs."))
for kind in KINDS:
    register(kind)
