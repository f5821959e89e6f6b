"""An outside effect, once: intent committed, one call, result committed (docs: effects.md, docs: promises.md#p3)."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from functools import partial
from typing import NoReturn, TypeVar

from structlog.stdlib import BoundLogger

from domain.jobs.effects import (
    CannotTell,
    EffectStatus,
    Finding,
    Found,
    NotFound,
    Standing,
    Strategy,
    may_call_again,
    status_after,
)
from domain.jobs.failures import Busy, ClaimLost, Failure, InFlight, Unauthorised, Uncertain
from domain.jobs.job import ClaimedJob, JsonObject
from domain.jobs.lifecycle import describe
from engine.database_away import retry_while_away
from engine.interrupts import Canceled, Interrupted
from engine.runtime import Runtime
from providers.ports.time_limit import calls_within
from storage.jobs import audit, effects
from storage.jobs.effects import Intent
from storage.postgres.database import Transaction

Call = Callable[[], JsonObject]
Find = Callable[[], Finding]
Check = Callable[[Transaction], object]
Hold = Callable[[Transaction], Failure | None]
Open = Callable[[], AbstractContextManager[Transaction]]
T = TypeVar("T")

BEGIN_WITHIN_S = 1.0
"""A call that begins later than this after its announcement is announced anew. Less than the margin, by which an
announcement outlasts the longest call."""

LOOK_AGAIN_AFTER = timedelta(seconds=5)
"""How long a job waits whose effect another is at. Its free returns last for longer than one call and its margin."""


class AttemptEffects:
    """What the effects of one attempt share: what intents depend on, and the results that are still unrecorded."""

    def __init__(self) -> None:
        """Nothing is held, and nothing is known."""
        self.hold: Hold | None = None
        """Locks what the job writes about; raises what ends the job, and returns what forbids an intent."""
        self._refusal: Failure | None = None
        """What forbids an intent in the transaction that is open."""
        self._is_recording = False
        self._unrecorded: set[EffectGuard] = set()

    def begin_transaction(self, tx: Transaction) -> None:
        """Hold what the job writes about until the transaction ends.

        Raises what ends the job, but for a transaction that records a call's result: that must stand in the ledger
        whatever becomes of the job.
        """
        self._refusal = None
        if self.hold is None:
            return
        try:
            self._refusal = self.hold(tx)
        except Canceled as refusal:
            if not self._is_recording:
                raise
            self._refusal = refusal

    def refusal(self, tx: Transaction, *checks: Check) -> Failure | None:
        """Raise what forbids an intent in this transaction, or return it where the transaction records a result.

        There only the next effect is left out, and `carry_out` raises the refusal once the result is committed.
        """
        try:
            if self._refusal is not None:
                raise self._refusal
            for check in checks:
                check(tx)
        except (Canceled, Interrupted, Unauthorised) as refusal:
            if not self._is_recording:
                raise
            return refusal
        return None

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Say that the transactions within record the result of a call."""
        self._is_recording = True
        try:
            yield
        finally:
            self._is_recording = False

    def note_known(self, guard: "EffectGuard") -> None:
        """Remember that the effect's result is known and not recorded."""
        self._unrecorded.add(guard)

    def note_recorded(self, guard: "EffectGuard") -> None:
        """Forget the effect: its result stands in the ledger."""
        self._unrecorded.discard(guard)

    def record_known(self) -> None:
        """Record by themselves the results that the attempt knows of and has not recorded: no other attempt follows."""
        while self._unrecorded:
            self._unrecorded.pop().record_alone()


class KnownResult(JsonObject):
    """The result of an effect that has happened, as the ledger has it.

    A person who ruled that it happened may not have said what it gave. A field that is read and missing ends the job
    with `Uncertain`, which names it.
    """

    def __init__(self, key: str, result: JsonObject) -> None:
        """`key` is the effect's."""
        super().__init__(result)
        self._key = key

    def __missing__(self, field: str) -> NoReturn:
        """Say what is missing, and how it is given."""
        raise Uncertain(
            f"{self._key} happened, and its result lacks {field}: rule it once more, with --result '{{\"{field}\": …}}'"
        )


class EffectGuard:
    """One effect of one attempt, in three parts: the intent, the call, the result.

    `once` does all three, and commits the intent and the result by themselves. A handler that has rows to commit with
    one of them uses the parts: `begin` and `record` work in its own transaction, `record_with` opens one.
    """

    def __init__(  # noqa: PLR0913 - whose effect it is, which one, and what it shares with the others
        self,
        runtime: Runtime,
        job: ClaimedJob,
        log: BoundLogger,
        key: str,
        strategy: Strategy,
        request: bytes = b"",
        *,
        opens: Open,
        shared: AttemptEffects,
    ) -> None:
        """Name the effect, and the claim it happens under; `request` is what the attempt would send.

        `opens` opens a transaction that holds the claim, and what the job writes about.
        """
        self._open = opens
        self._shared = shared
        self._refusal: Failure | None = None
        """Why there is no intent, where another effect's result is recorded in the same transaction."""
        self._runtime = runtime
        self._job = job
        self._log = log
        self._key = key
        self._strategy = strategy
        self._standing = Standing.ACT
        self._result: JsonObject = {}
        self._own_request = request
        self.request = request
        """What is to be sent: what an earlier attempt sent, while that may have had its effect."""
        self._needed = runtime.call_time
        self._intent = Intent(Standing.ACT, None)
        self._asked_at = 0.0
        """When the intent or the call was announced, by the monotonic clock."""
        self._deadline_at = 0.0
        """When the attempt's deadline takes the claim away, by the monotonic clock."""
        self._doubted = False
        """Whether an earlier attempt's call may have had its effect."""

    @property
    def first_request(self) -> bytes | None:
        """What an earlier attempt sent, or another job's; None when there was none, or a release kept nothing."""
        return self._intent.request

    def once(self, call: Call, find: Find | None) -> JsonObject:
        """Cause the effect, or find out what an earlier attempt did."""
        # Where nothing is held until the intent is committed, one statement is one round trip.
        with self._runtime.database.statements() if self._shared.hold is None else self._open() as tx:
            self.begin(tx)
        result = self.carry_out(call, find)
        if self._standing is not Standing.DONE and not self._finish(EffectStatus.SUCCEEDED, result=result):
            self._audit_unrecorded()
            raise ClaimLost(f"the claim was lost while {self._key} happened")
        return result

    @property
    def is_refused(self) -> bool:
        """Whether there is no intent, because the job may begin no effect any more; `carry_out` raises why."""
        return self._refusal is not None

    def begin(self, tx: Transaction, *checks: Check) -> None:
        """Write the intent; commit it before the call. Raises what forbids the effect, and what the checks raise.

        Where another effect's result is recorded in the same transaction, `carry_out` raises what the checks say.
        """
        self._refusal = self._shared.refusal(tx, *checks)
        if self._refusal is not None:
            return
        self._asked_at = self._runtime.monotonic()
        intent = effects.begin_effect(
            tx, self._job, self._key, self._strategy, lasts=self._needed, request=self.request or None
        )
        self._intent, self._standing = intent, intent.standing
        self._result = KnownResult(self._key, intent.result or {})
        self._deadline_at = self._asked_at + intent.claim_left.total_seconds()
        self._doubted = intent.standing is Standing.FIND_OUT
        if intent.request is not None:
            self.request = intent.request
        match intent.standing:
            case Standing.BUSY:
                raise Busy(f"another job is at effect {self._key}", wait=LOOK_AGAIN_AFTER)
            case Standing.UNKNOWN:
                raise Uncertain(f"nobody knows whether {self._key} happened")

    def carry_out(self, call: Call, find: Find | None = None) -> JsonObject:
        """Make the call, or return the result of an earlier attempt; the result is still to be recorded."""
        if self._refusal is not None:
            raise self._refusal
        match self._standing:
            case Standing.ACT:
                self._learn(self._act(call))
            case Standing.FIND_OUT:
                self._learn(self._find_out(call, find))
        return self._result

    def look(self, find: Find) -> JsonObject | None:
        """Find out what an earlier attempt's call came to, and make none; None when certainly nothing happened.

        Then `record` the result, or `drop` the intent. Raises `Uncertain` when the provider cannot tell, and `InFlight`
        while the call may still be under way.
        """
        if self._refusal is not None:
            raise self._refusal
        match self._standing:
            case Standing.ACT:
                return None
            case Standing.DONE:
                return self._result
        match find():
            case Found(result=result):
                self._learn(result)
                return result
            case NotFound():
                self._need_landed()
                return None
            case CannotTell(reason=reason):
                self._need_landed()
                raise self._uncertain(reason)

    def drop(self, tx: Transaction) -> None:
        """Write that nothing happened and nothing will, in a transaction that holds the claim."""
        lost = f"the claim was lost while {self._key} was looked for"
        effects.record_effect(tx, self._job, self._key, EffectStatus.FAILED, lost=lost)

    def record(self, tx: Transaction) -> None:
        """Write the result in a transaction that holds the claim.

        An idempotent effect may be recorded where the job is settled: when that fails, the effect is repeated.
        """
        if self._standing is Standing.DONE:
            return
        lost = f"the claim was lost while {self._key} happened"
        effects.record_effect(tx, self._job, self._key, EffectStatus.SUCCEEDED, result=self._result, lost=lost)
        tx.after_commit(partial(self._shared.note_recorded, self))

    def record_alone(self) -> None:
        """Write the result in a transaction of its own; a claim that was lost is no matter."""
        if not self._finish(EffectStatus.SUCCEEDED, result=self._result):
            self._audit_unrecorded()

    def record_with(self, write: Callable[[Transaction], T]) -> T:
        """Write the result and the rows that follow from it in one transaction that holds the claim.

        `write` may run twice: when the answer to a commit is lost, the transaction is repeated.
        """

        def record_and_write() -> T:
            with self._shared.recording(), self._open() as tx:
                self.record(tx)
                return write(tx)

        try:
            # What happened is known here and nowhere else: a database that is away is waited for.
            return retry_while_away(self._runtime, record_and_write)
        except ClaimLost:
            self._audit_unrecorded()
            raise

    def _learn(self, result: JsonObject) -> None:
        self._result = result
        self._shared.note_known(self)

    def _act(self, call: Call) -> JsonObject:
        self._announce()
        self._need_margin()
        try:
            with calls_within(self._runtime.settings.provider_call_limit_s, self._runtime.monotonic):
                return call()
        except Failure as failure:
            self._record_failure(failure)
            raise

    def _find_out(self, call: Call, find: Find | None) -> JsonObject:
        if may_call_again(self._strategy, self._intent.known_for):
            return self._act(call)
        if find is None:
            raise self._uncertain("the provider cannot be asked, or not any more")
        match find():
            case Found(result=result):
                return result
            case NotFound():
                self._need_landed()
                # The first call did nothing: from now on this attempt's counts.
                self._doubted, self.request = False, self._own_request
                return self._act(call)
            case CannotTell(reason=reason):
                self._need_landed()
                raise self._uncertain(reason)

    def _need_landed(self) -> None:
        """Raise while the call of an earlier attempt may still be under way: what it will do cannot be seen yet.

        As of the intent, before the question: what was not there then may have come while the answer travelled.
        """
        left = self._intent.in_flight_for
        if left > timedelta(0):
            raise InFlight(f"an earlier attempt's call of {self._key} may still be under way", wait=left)

    def _uncertain(self, reason: str) -> Uncertain:
        """Record that nobody can tell; returns what to raise."""
        doubt = Uncertain(f"nobody knows whether {self._key} happened: {reason}")
        self._finish(EffectStatus.UNKNOWN, error=describe(doubt, self._job.attempt))
        return doubt

    def _announce(self) -> None:
        """Write anew until when the call may last and what it sends, unless a fresh intent of this attempt says so."""
        if self._standing is Standing.ACT and self._runtime.monotonic() - self._asked_at <= BEGIN_WITHIN_S:
            return
        asked_at = self._runtime.monotonic()
        with self._runtime.database.statements() as tx:
            left = effects.announce_call(tx, self._job, self._key, self._needed, self.request or None)
        self._asked_at, self._deadline_at = asked_at, asked_at + left.total_seconds()

    def _need_margin(self) -> None:
        """Raise when the lease or the deadline could take the claim away before the call has ended."""
        of_deadline = timedelta(seconds=self._deadline_at - self._runtime.monotonic())
        margin = min(self._runtime.lease.margin(), of_deadline)
        if margin < self._needed:
            seconds = timedelta(seconds=1)
            lost = ClaimLost(
                f"the claim has {margin / seconds:.1f} s left; {self._key} may take {self._needed / seconds:.1f} s"
            )
            if not self._doubted:
                # Certainly not called: the next attempt need not find out, which not every provider allows.
                self._finish(EffectStatus.FAILED, error=describe(lost, self._job.attempt))
            raise lost

    def _record_failure(self, failure: Failure) -> None:
        status = status_after(failure, self._strategy, doubted=self._doubted)
        if status is not None:
            self._finish(status, error=describe(failure, self._job.attempt))
        if status is EffectStatus.UNKNOWN:
            raise Uncertain(f"nobody knows whether {self._key} happened: {failure.reason}") from failure

    def _audit_unrecorded(self) -> None:
        """It happened and the claim is gone: the next attempt must be able to find out, and an operator to see it."""
        if self._standing is Standing.DONE:
            return
        with self._runtime.database.ledger() as tx:
            audit.record(tx, self._job, "effect.unrecorded", {"key": self._key, "result": self._result})
        self._log.warning("effect_unrecorded", key=self._key)

    def _finish(
        self, status: EffectStatus, *, result: JsonObject | None = None, error: JsonObject | None = None
    ) -> bool:
        def write() -> bool:
            with self._runtime.database.statements() as tx:
                return effects.finish_effect(tx, self._job, self._key, status, result=result, error=error)

        # What happened is known here and nowhere else: a database that is away is waited for.
        is_recorded = retry_while_away(self._runtime, write)
        if is_recorded:
            self._shared.note_recorded(self)
        return is_recorded
