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
from domain.jobs.uniqueness import while_queued
from domain.payloads.payload import Payload
from engine.app import register
from engine.catalogue import Handler, Job, catalogue, job
from engine.context import JobContext
from storage.ledger import audit
from storage.postgres.database import Transaction
from tests.chaos.deeds import Outside

STUBBORN = RetryPolicy("stubborn", 8, timedelta(seconds=0.5), timedelta(seconds=2))
"""More attempts than a run of minutes can take from one job by killing its workers."""

DEADLINE = timedelta(seconds=60)
"""Far beyond what any of these jobs takes; an attempt that outruns it was forgotten by somebody."""

CHILDREN = 2
WROTE = "chaos.wrote"

P = TypeVar("P", bound=Payload)


class Nothing(Payload):
    """No words."""


class Duration(Payload):
    """How long to do nothing."""

    ms: int


class Trouble(Payload):
    """How many attempts fail."""

    failures: int


class Account(Payload):
    """Whose turn it is."""

    account_id: str
    ms: int = 0


class Order(Payload):
    """What to do outside, how long its answer takes, and how many attempts are refused before."""

    key: str
    ms: int
    refusals: int = 0


class Snoozer(Payload, job_type="chaos_jobs.snoozer"):
    """Until when to wait."""

    until: datetime


def wait(ms: int) -> None:
    """Take time as a provider's answer does."""
    threading.Event().wait(ms / 1000)


def witnessed(handler: Handler[P]) -> Handler[P]:
    """Let the outside world know which process began each attempt."""

    @wraps(handler)
    def witness(ctx: JobContext, payload: P) -> Outcome:
        Outside.here().begin(ctx.job.job_id, ctx.job.attempt)
        return handler(ctx, payload)

    return witness


def chaotic(queue: Queue, *, light: bool = False) -> Callable[[Handler[P]], Job[P]]:
    """Make a job type as `@job` does, with this run's policy and a witness."""

    def make(handler: Handler[P]) -> Job[P]:
        return job(queue=queue, retry=STUBBORN, deadline=DEADLINE, light=light)(witnessed(handler))

    return make


class Noop(Nothing, job_type="chaos_jobs.noop"): ...


@chaotic(Queue.DEFAULT)
def noop(_ctx: JobContext, _payload: Noop) -> Outcome:
    """Do nothing."""
    return Done()


class LightNoop(Nothing, job_type="chaos_jobs.light_noop"): ...


@chaotic(Queue.DEFAULT, light=True)
def light_noop(_ctx: JobContext, _payload: LightNoop) -> Outcome:
    """Do nothing, in the company of others."""
    return Done()


class Tick(Nothing, job_type="chaos_jobs.tick"): ...


@chaotic(Queue.MAINTENANCE)
def tick(_ctx: JobContext, _payload: Tick) -> Outcome:
    """What beat enqueues."""
    return Done()


class Nap(Duration, job_type="chaos_jobs.nap"): ...


@chaotic(Queue.PLANNING)
def nap(ctx: JobContext, payload: Nap) -> Outcome:
    """Take some time, and stop at half of it when asked."""
    wait(payload.ms // 2)
    ctx.check()
    wait(payload.ms // 2)
    return Done()


class Flaky(Trouble, job_type="chaos_jobs.flaky"): ...


@chaotic(Queue.NOTIFICATIONS)
def flaky(ctx: JobContext, payload: Flaky) -> Outcome:
    """Fail in the first attempts."""
    if ctx.job.attempt <= payload.failures:
        raise Transient("a passing trouble")
    return Done()


class Doomed(Trouble, job_type="chaos_jobs.doomed"): ...


@chaotic(Queue.NOTIFICATIONS)
def doomed(_ctx: JobContext, payload: Doomed) -> Outcome:
    """Fail for good; without failures to count, by a bug, which ends in the dead letters."""
    if payload.failures:
        raise Permanent("no use")
    raise ZeroDivisionError("a bug")


class Turn(Account, job_type="chaos_jobs.turn", serial_by="account_id"): ...


@chaotic(Queue.DEFAULT)
def turn(_ctx: JobContext, payload: Turn) -> Outcome:
    """One at a time per account."""
    wait(payload.ms)
    return Done()


class Single(Account, job_type="chaos_jobs.single", unique=while_queued("account_id")): ...


@chaotic(Queue.DEFAULT)
def single(_ctx: JobContext, _payload: Single) -> Outcome:
    """One in the queue per account."""
    return Done()


class Parent(Nothing, job_type="chaos_jobs.parent"): ...


@chaotic(Queue.EXPORTS)
def parent(ctx: JobContext, _payload: Parent) -> Outcome:
    """Have children."""
    return Done(children=tuple(Noop().job(org_id=ctx.org_id) for _ in range(CHILDREN)))


class Deed(Order, job_type="chaos_jobs.deed"): ...


@chaotic(Queue.CRITICAL)
def deed(ctx: JobContext, payload: Deed) -> Outcome:
    """Change the outside world once; most of the call is waiting for its answer, so that death comes after the deed."""
    return change_outside(ctx, payload)


class LightDeed(Order, job_type="chaos_jobs.light_deed"): ...


@chaotic(Queue.CRITICAL, light=True)
def light_deed(ctx: JobContext, payload: LightDeed) -> Outcome:
    """Change the outside world once, in the company of others that die with it."""
    return change_outside(ctx, payload)


def change_outside(ctx: JobContext, payload: Order) -> Outcome:
    """Do the deed by an effect with a key of its own."""
    outside = Outside.here()

    def call() -> JsonObject:
        if ctx.job.attempt <= payload.refusals:
            raise Transient("refused")
        outside.do(payload.key)
        wait(payload.ms)
        return {"key": payload.key}

    def find() -> Finding:
        return Found({"key": payload.key, "found": True}) if outside.was_done(payload.key) else NotFound()

    return Done(ctx.effect(payload.key, call, find=find))


class Posting(Duration, job_type="chaos_jobs.posting"): ...


@chaotic(Queue.MAINTENANCE)
def posting(ctx: JobContext, payload: Posting) -> Outcome:
    """Write a row in the transaction that settles the job."""

    def write(tx: Transaction) -> None:
        audit.append(tx, ctx.job, WROTE, {})
        wait(payload.ms)

    return Done(writes=write)


@chaotic(Queue.PLANNING)
def snoozer(ctx: JobContext, payload: Snoozer) -> Outcome:
    """Wait for the appointment without holding a slot."""
    return Done() if ctx.now() >= payload.until else Snooze(payload.until, "not yet")


KINDS: tuple[Job[Any], ...] = tuple(kind for kind in catalogue if kind.name.startswith("chaos_jobs."))
for kind in KINDS:
    register(kind)
