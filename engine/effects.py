"""An outside effect, once: intent committed, one call, result committed (docs: effects.md, docs: promises.md#p3)."""

from collections.abc import Callable
from datetime import timedelta

from structlog.stdlib import BoundLogger

from domain.jobs.effects import (
    CLAIM_MARGIN,
    CannotTell,
    Finding,
    Found,
    NotFound,
    Standing,
    Strategy,
    may_call_again,
    status_after,
)
from domain.jobs.failures import ClaimLost, Failure, Invalid, Transient, Uncertain
from domain.jobs.job import ClaimedJob, JsonObject
from domain.jobs.lifecycle import describe
from engine.process.database_away import patiently
from engine.process.runtime import Runtime
from storage.ledger import audit, effects

Call = Callable[[], JsonObject]
Find = Callable[[], Finding]


class Once:
    """The protocol for one attempt at one job."""

    def __init__(self, runtime: Runtime, job: ClaimedJob, log: BoundLogger) -> None:
        """Bind the protocol to the claim it works under."""
        self._runtime = runtime
        self._job = job
        self._log = log

    def effect(self, key: str, call: Call, find: Find | None, strategy: Strategy) -> JsonObject:
        """Cause the effect, or find out what an earlier attempt did."""
        with self._runtime.database.statements() as tx:
            intent = effects.begin_effect(tx, self._job, key, strategy)
        match intent.standing:
            case Standing.DONE:
                return intent.result or {}
            case Standing.ACT:
                return self._act(key, call, strategy)
            case Standing.FIND_OUT:
                return self._find_out(key, call, find, strategy)
            case Standing.BUSY:
                raise Transient(f"another job is at effect {key}", code="effect.busy")
            case Standing.UNKNOWN:
                raise Uncertain(f"nobody knows whether {key} happened")
            case Standing.TAKEN:
                raise Invalid("effect", f"{key} is the key of a job")

    def _act(self, key: str, call: Call, strategy: Strategy) -> JsonObject:
        self._need_margin(key)
        try:
            result = call()
        except Failure as failure:
            self._record_failure(key, failure, strategy)
            raise
        self._record(key, result)
        return result

    def _find_out(self, key: str, call: Call, find: Find | None, strategy: Strategy) -> JsonObject:
        if may_call_again(strategy):
            return self._act(key, call, strategy)
        finding = find() if find else CannotTell("the provider cannot be asked")
        match finding:
            case Found(result=result):
                self._record(key, result)
                return result
            case NotFound():
                return self._act(key, call, strategy)
            case CannotTell(reason=reason):
                doubt = Uncertain(f"nobody knows whether {key} happened: {reason}")
                self._finish(key, "unknown", error=describe(doubt, self._job.attempt))
                raise doubt

    def _need_margin(self, key: str) -> None:
        margin = self._runtime.lease.margin()
        if margin < self._runtime.lease.length * CLAIM_MARGIN:
            lost = ClaimLost(f"the lease has {margin / timedelta(seconds=1):.1f} s left, too little for {key}")
            # Certainly not called: the next attempt need not find out, which not every provider allows.
            self._finish(key, "failed", error=describe(lost, self._job.attempt))
            raise lost

    def _record_failure(self, key: str, failure: Failure, strategy: Strategy) -> None:
        status = status_after(failure, strategy)
        if status is not None:
            self._finish(key, status, error=describe(failure, self._job.attempt))
        if status == "unknown":
            raise Uncertain(f"nobody knows whether {key} happened: {failure.reason}") from failure

    def _record(self, key: str, result: JsonObject) -> None:
        if self._finish(key, "succeeded", result=result):
            return
        # It happened and the claim is gone: the next attempt must be able to find out, and an operator to see it.
        with self._runtime.database.ledger() as tx:
            audit.append(tx, self._job, "effect.unrecorded", {"key": key, "result": result})
        self._log.warning("effect_unrecorded", key=key)
        raise ClaimLost(f"the claim was lost while {key} happened")

    def _finish(
        self, key: str, status: str, *, result: JsonObject | None = None, error: JsonObject | None = None
    ) -> bool:
        def attempt() -> bool:
            with self._runtime.database.statements() as tx:
                return effects.finish_effect(tx, self._job, key, status, result=result, error=error)

        # What happened is known here and nowhere else: a database that is away is waited for.
        return patiently(self._runtime, attempt)
