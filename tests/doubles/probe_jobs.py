"""Job types for the tests of the engine, loaded into a worker with `--include tests.doubles.probe_jobs`."""

import json
import os
import signal
import threading
from datetime import timedelta
from functools import partial

from kombu.asynchronous import get_event_loop

import tasks  # noqa: F401  # its walk registers all job types known by then; those below are registered after it
from domain.jobs.effects import CannotTell, Finding, Found, NotFound, Strategy
from domain.jobs.failures import CallState, ClaimLost, Permanent, Transient
from domain.jobs.job import Cancel, Done, JsonObject, NewJob, Outcome, Snooze
from domain.jobs.nesting import MOST_LEVELS
from domain.jobs.queues import Queue
from domain.jobs.retry import RetryPolicy
from domain.jobs.uniqueness import while_queued
from domain.payloads.payload import Payload
from engine.app import register
from engine.catalogue import job
from engine.context import JobContext
from providers.ports.language_model import ModelRequest
from storage.jobs import audit
from storage.postgres.database import Transaction
from tasks.mail.steps.language_model import ask_model
from tests.doubles.probes.outside import Outside

AT_ONCE = RetryPolicy("at_once", 3, timedelta(0), timedelta(0))


class Nothing(Payload):
    """No fields."""


class Word(Payload):
    """One word, which says what the job does."""

    word: str = ""
    account_id: str = "a"


class Noop(Nothing, job_type="probe_jobs.noop"): ...


@job(queue=Queue.DEFAULT, retry=AT_ONCE)
def noop(_ctx: JobContext, _payload: Noop) -> Outcome:
    """Do nothing."""
    return Done({"done": True})


class Ending(Word, job_type="probe_jobs.ending"): ...


@job(queue=Queue.DEFAULT, retry=AT_ONCE)
def ending(ctx: JobContext, payload: Ending) -> Outcome:
    """End as the word says."""
    match payload.word:
        case "snooze":
            return Snooze(ctx.now() + timedelta(hours=1), "not yet")
        case "cancel":
            return Cancel("pointless")
        case "transient":
            raise Transient("a passing trouble")
        case "permanent":
            raise Permanent("no use")
        case "bug":
            raise ZeroDivisionError("a bug with Bearer abcdefghijklmnop in it")
        case "leak":
            raise RuntimeError(
                "Authorization: Bearer abcdefghijklmnop, ya29.a0AfH6SMBx1234567890 and sk-ant-api03-AAAABBBBCCCC"
                " at postgresql://me:hunter2hunter2@db.example.com/mail"
            )
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
    return Done({"word": payload.word})


class Chatty(Word, job_type="probe_jobs.chatty"): ...


@job(queue=Queue.DEFAULT, retry=AT_ONCE)
def chatty(ctx: JobContext, payload: Chatty) -> Outcome:
    """Take a step, then fail once."""
    counted = ctx.step("count", lambda: {"attempt": ctx.job.attempt})
    if ctx.job.attempt == 1:
        raise Transient("after the step")
    return Done(counted | {"word": payload.word})


class Parent(Word, job_type="probe_jobs.parent"): ...


@job(queue=Queue.DEFAULT, retry=AT_ONCE)
def parent(ctx: JobContext, payload: Parent) -> Outcome:
    """Enqueue a child: of a type without a key, or with one that the word names."""
    return Done(children=((Serial(account_id=payload.word) if payload.word else Noop()).job(org_id=ctx.org_id),))


class Serial(Word, job_type="probe_jobs.serial", unique=while_queued("account_id"), serial_by="account_id"): ...


@job(queue=Queue.DEFAULT, retry=AT_ONCE)
def serial(_ctx: JobContext, payload: Serial) -> Outcome:
    """Run one at a time per account."""
    return Done({"word": payload.word})


class EffectOrder(Payload, job_type="probe_jobs.effectful"):
    """How an effect goes, attempt by attempt: ok, refused, doubt; and what a search would find."""

    key: str
    goes: list[str]
    found: str = "no"
    strategy: Strategy = Strategy.FIND


CALLS: list[str] = []
"""The effects performed in this process."""


@job(queue=Queue.DEFAULT, retry=AT_ONCE)
def effectful(ctx: JobContext, payload: EffectOrder) -> Outcome:
    """Perform an effect that ends as the payload says."""

    def call() -> JsonObject:
        how = payload.goes[min(ctx.job.attempt, len(payload.goes)) - 1]
        if how == "refused":
            raise Transient("refused")
        CALLS.append(payload.key)
        if how == "doubt":
            raise Transient("no answer", call_state=CallState.IN_DOUBT)
        return {"key": payload.key}

    def find() -> Finding:
        findings: dict[str, Finding] = {"yes": Found({"found": True}), "no": NotFound(), "unclear": CannotTell("lag")}
        return findings[payload.found]

    if payload.strategy is Strategy.NATIVE_KEY:
        return Done(ctx.keyed_effect(payload.key, b"the same bytes", lambda _request: call()))
    return Done(ctx.effect(payload.key, call, find=find, strategy=payload.strategy))


class Held(Payload):
    """At which gate the job waits, in its first attempt or in each, and what it does then."""

    gate: str = ""
    each_time: bool = False
    then: str = "end"
    account_id: str = "a"

    def begin(self, ctx: JobContext) -> Outside:
        """Note the attempt and wait at the gate."""
        outside = Outside.here()
        outside.note("began", ctx.job.job_id, ctx.job.attempt, os.getpid())
        if self.gate and (self.each_time or not outside.lines(f"waits {ctx.job.job_id}")):
            outside.note("waits", ctx.job.job_id)
            outside.wait_at(self.gate)
        return outside


class Visit(Held, job_type="probe_jobs.visit"): ...


@job(queue=Queue.DEFAULT, retry=AT_ONCE, audits=("probe.wrote",))
def visit(ctx: JobContext, payload: Visit) -> Outcome:
    """Wait at the gate, then write as the payload says; note a refusal in the journal."""
    outside = payload.begin(ctx)
    try:
        return _write(ctx, payload.then)
    except ClaimLost:
        outside.note("refused", payload.then)
        raise


def _write(ctx: JobContext, how: str) -> Outcome:
    done = Done({"attempt": ctx.job.attempt, "pid": os.getpid()})
    match how:
        case "step":
            ctx.step("kept", lambda: done.output)
        case "progress":
            ctx.progress(done.output)
        case "transaction":
            with ctx.tx() as tx:
                audit.append(tx, ctx.job, "probe.wrote", done.output)
        case "writes":
            return Done(done.output, writes=lambda tx: audit.append(tx, ctx.job, "probe.wrote", done.output))
        case "child":
            return Done(done.output, children=(Noop().job(org_id=ctx.org_id),))
    return done


class Writing(Word, job_type="probe_jobs.writing"): ...


@job(queue=Queue.DEFAULT, retry=AT_ONCE, audits=("probe.wrote",))
def writing(ctx: JobContext, payload: Writing) -> Outcome:
    """Write a row and a child with the settlement; the word says what goes wrong with them."""

    def write(tx: Transaction) -> JsonObject:
        audit.append(tx, ctx.job, "probe.wrote", {})
        if payload.word in {"transient", "bug"}:
            bug = ZeroDivisionError("a bug with Bearer abcdefghijklmnop in it")
            raise Transient("a passing trouble") if payload.word == "transient" else bug
        return {"added": "\0" if payload.word == "added unkept" else True}

    child = NewJob("nobody.knows" if payload.word == "unknown child" else noop.name, ctx.org_id, {})
    output: JsonObject = {"done": "\0" if payload.word == "unkept" else True}
    return Done(output, children=(child,), writes=write)


class Stepping(Held, job_type="probe_jobs.stepping"): ...


@job(queue=Queue.DEFAULT, retry=AT_ONCE)
def stepping(ctx: JobContext, payload: Stepping) -> Outcome:
    """Take three steps and wait at the gate inside the second."""

    def step(name: str) -> JsonObject:
        outside.note("step", name, ctx.job.job_id)
        if name == "second":
            payload.begin(ctx)
        return {"attempt": ctx.job.attempt}

    outside = Outside.here()
    return Done({name: ctx.step(name, partial(step, name)) for name in ("first", "second", "third")})


class Overdue(Held, job_type="probe_jobs.overdue"): ...


@job(queue=Queue.DEFAULT, retry=AT_ONCE, deadline=timedelta(seconds=1))
def overdue(ctx: JobContext, payload: Overdue) -> Outcome:
    """Wait at the gate, for longer than the deadline allows."""
    payload.begin(ctx)
    return Done()


class Turn(Held, job_type="probe_jobs.turn", serial_by="account_id"): ...


@job(queue=Queue.DEFAULT, retry=AT_ONCE)
def turn(ctx: JobContext, payload: Turn) -> Outcome:
    """Run for a moment, never at the same time as another job of the same account."""
    outside = Outside.here()
    outside.note("enters", payload.account_id, ctx.job.job_id)
    threading.Event().wait(0.02)
    outside.note("leaves", payload.account_id, ctx.job.job_id)
    return Done()


class Pair(Held, job_type="probe_jobs.pair", serial_by="account_id", serial_limit=2): ...


@job(queue=Queue.DEFAULT, retry=AT_ONCE)
def pair(ctx: JobContext, payload: Pair) -> Outcome:
    """Wait at the gate; at most two jobs of an account may run at once."""
    outside = Outside.here()
    outside.note("enters", payload.account_id, ctx.job.job_id)
    payload.begin(ctx)
    outside.note("leaves", payload.account_id, ctx.job.job_id)
    return Done()


class Served(Word, job_type="probe_jobs.served"): ...


@job(queue=Queue.DEFAULT, retry=AT_ONCE, providers=("probe",))
def served(_ctx: JobContext, payload: Served) -> Outcome:
    """Declare a provider and an account."""
    return Done({"word": payload.word})


class Perilous(Payload, job_type="probe_jobs.perilous"):
    """What happens to the process between its effect and the record of it."""

    key: str
    end: str = "none"


@job(queue=Queue.DEFAULT, retry=AT_ONCE)
def perilous(ctx: JobContext, payload: Perilous) -> Outcome:
    """Perform an effect; the process is killed or stopped right after it, as the payload says; or it comes late."""
    outside = Outside.here()
    if payload.end == "late":
        outside.note("began", ctx.job.job_id)
        threading.Event().wait(2)

    def call() -> JsonObject:
        outside.note("call", payload.key)
        if payload.end == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if payload.end == "wait":
            outside.wait_at(payload.key)
        return {"key": payload.key}

    def find() -> Finding:
        return Found({"key": payload.key, "found": True}) if outside.lines(f"call {payload.key}") else NotFound()

    return Done(ctx.effect(payload.key, call, find=find))


class Rambling(Nothing, job_type="probe_jobs.rambling"): ...


@job(queue=Queue.DEFAULT, retry=AT_ONCE)
def rambling(_ctx: JobContext, _payload: Rambling) -> Outcome:
    """Give a reason that is too long for the ledger."""
    return Cancel("pointless " * 1000)


class Abysmal(Nothing, job_type="probe_jobs.abysmal"): ...


@job(queue=Queue.DEFAULT, retry=AT_ONCE)
def abysmal(_ctx: JobContext, _payload: Abysmal) -> Outcome:
    """Return an output that cannot be stored."""
    return Done(json.loads('{"a":' * (MOST_LEVELS + 1) + "{}" + "}" * (MOST_LEVELS + 1)))


class LoopBreaker(Word, job_type="probe_jobs.loop_breaker"): ...


@job(queue=Queue.DEFAULT, retry=AT_ONCE)
def loop_breaker(_ctx: JobContext, payload: LoopBreaker) -> Outcome:
    """Break the event loop of a worker with threads, as a mistake in kombu would; or hang it until a gate opens."""
    hangs = threading.Event()

    def mistake() -> None:
        hangs.set()
        assert payload.word, "the event loop broke"
        Outside.here().wait_at(payload.word)

    get_event_loop().call_soon(mistake)
    hangs.wait(30)  # or the loop might settle this job before it comes to the mistake
    return Done()


QUESTION = ModelRequest(
    model="claude-haiku-5-5",
    system="Say what the mail is.",
    mail="Dear Ada, lunch?",
    tool_name="classify",
    tool_description="Say what the mail is.",
    tool_schema={"type": "object", "properties": {"label": {"type": "string"}}, "required": ["label"]},
    max_tokens=500,
    cache=None,
)
"""A question that always costs the same."""


class Asking(Word, job_type="probe_jobs.asking"): ...


@job(queue=Queue.DEFAULT, retry=AT_ONCE, providers=("anthropic",))
def asking(ctx: JobContext, _payload: Asking) -> Outcome:
    """Ask the model once per job."""
    return Done({"cost": ask_model(ctx, "ask", QUESTION)["cost"]})


class Undeclared(Nothing, job_type="probe_jobs.undeclared"): ...


@job(queue=Queue.DEFAULT, retry=AT_ONCE)
def undeclared(ctx: JobContext, _payload: Undeclared) -> Outcome:
    """Ask the model without declaring it as a provider."""
    return Done({"cost": ask_model(ctx, "ask", QUESTION)["cost"]})


PROBES = (
    noop,
    ending,
    chatty,
    parent,
    serial,
    effectful,
    visit,
    stepping,
    overdue,
    turn,
    pair,
    served,
    perilous,
    asking,
)
for probe in (*PROBES, writing, undeclared, rambling, abysmal, loop_breaker):
    register(probe)


class Unruly(Word, job_type="probe_jobs.unruly"): ...


@job(queue=Queue.DEFAULT, retry=AT_ONCE)
def unruly(ctx: JobContext, _payload: Unruly) -> Outcome:
    """Enqueue a child of an unknown type."""
    return Done(children=(NewJob("nobody.knows", ctx.org_id, {}),))


register(unruly)
