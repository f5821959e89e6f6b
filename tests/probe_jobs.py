"""Job types that exist for the tests of the frame: loaded into a worker with `--include tests.probe_jobs`."""

import os
import signal
from datetime import timedelta

from domain.effects import CannotTell, Finding, Found, NotFound, Strategy
from domain.failures import Deed, Permanent, Transient
from domain.job import Cancel, Done, JsonObject, Outcome, Snooze
from domain.payload import Payload
from domain.queues import Queue
from domain.retry import RetryPolicy
from domain.uniqueness import while_queued
from tasks.app import register
from tasks.catalogue import job
from tasks.context import JobContext

AT_ONCE = RetryPolicy("at_once", 3, timedelta(0), timedelta(0))


class Nothing(Payload):
    """No words."""


class Word(Payload):
    """One word, which tells the probe what to do."""

    word: str = ""
    account_id: str = "a"


@job(queue=Queue.DEFAULT, retry=AT_ONCE)
def noop(_ctx: JobContext, _payload: Nothing) -> Outcome:
    """Do nothing."""
    return Done({"done": True})


@job(queue=Queue.DEFAULT, retry=AT_ONCE)
def ending(ctx: JobContext, payload: Word) -> Outcome:
    """End in the way that the word says."""
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
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
    return Done({"word": payload.word})


@job(queue=Queue.DEFAULT, retry=AT_ONCE)
def chatty(ctx: JobContext, payload: Word) -> Outcome:
    """Take a step, then fail once."""
    counted = ctx.step("count", lambda: {"attempt": ctx.job.attempt})
    if ctx.job.attempt == 1:
        raise Transient("after the step")
    return Done(counted | {"word": payload.word})


@job(queue=Queue.DEFAULT, retry=AT_ONCE)
def parent(ctx: JobContext, _payload: Word) -> Outcome:
    """Have a child."""
    return Done(children=(noop.new(Nothing(), org_id=ctx.org_id),))


@job(queue=Queue.DEFAULT, retry=AT_ONCE, unique=while_queued("account_id"), serial_by="account_id")
def serial(_ctx: JobContext, payload: Word) -> Outcome:
    """One at a time per account."""
    return Done({"word": payload.word})


class EffectOrder(Payload):
    """How an effect goes, attempt by attempt: ok, refused, doubt; and what a search would find."""

    key: str
    goes: list[str]
    found: str = "no"
    strategy: Strategy = Strategy.FIND


DEEDS: list[str] = []
"""What was done to the outside world in this process."""


@job(queue=Queue.DEFAULT, retry=AT_ONCE)
def deed(ctx: JobContext, payload: EffectOrder) -> Outcome:
    """Cause an effect that goes as ordered."""

    def call() -> JsonObject:
        how = payload.goes[min(ctx.job.attempt, len(payload.goes)) - 1]
        if how == "refused":
            raise Transient("refused")
        DEEDS.append(payload.key)
        if how == "doubt":
            raise Transient("no answer", deed=Deed.IN_DOUBT)
        return {"key": payload.key}

    def find() -> Finding:
        findings: dict[str, Finding] = {"yes": Found({"found": True}), "no": NotFound(), "unclear": CannotTell("lag")}
        return findings[payload.found]

    return Done(ctx.effect(payload.key, call, find=find, strategy=payload.strategy))


for probe in (noop, ending, chatty, parent, serial, deed):
    register(probe)
