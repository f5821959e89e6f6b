"""The ledger loop: claims what a worker's main process received and settles what its pool brings back, many at a time.

It lives in Celery's event loop and has no thread of its own: what gathers while one statement runs goes into the next.
docs/explanation/ledger-loop.md has the figures, and why nothing gets lost.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Sequence
from datetime import timedelta
from math import ceil
from typing import Any
from uuid import UUID

import structlog

from domain.jobs.failures import Failure
from domain.jobs.job import ClaimedJob
from domain.jobs.lifecycle import Settlement
from domain.jobs.monitoring.liveness import WorkerCondition, may_claim, symptoms
from domain.jobs.newer_payloads import give_back_newer
from domain.jobs.scheduling.pace import Pace
from engine.broker.hints import HintMessage
from engine.catalogue import catalogue
from engine.database_away import DATABASE_RETRY_S
from engine.messages import border
from engine.runtime import Runtime
from engine.worker.adoption import MOST_UNWRITTEN, Adoption
from engine.worker.capacity import Capacity, HeldJobs
from engine.worker.claims import MOST_AT_ONCE, Claims
from engine.worker.execution import Report
from engine.worker.pool import PoolDispatcher, shareable
from engine.worker.revocations import Revocations
from engine.worker.settlements import Settlements
from engine.worker.task_events import TaskEvents
from observability.log_limit import LogLimit
from storage.jobs import ledger
from storage.postgres.execution import DatabaseUnavailable

log = structlog.get_logger(__name__)

WINDOW_S = 0.002
"""How long a turn gathers after the one before. A loop of whose jobs none runs turns at once: nothing would gather."""

CHECK_S = 1.0
"""How often the loop looks whether what it has claimed begins, and writes which long jobs have begun."""

UNKNOWN_TYPE_WAIT = timedelta(seconds=30)
"""How long a job rests whose type this worker does not know; a newer one, or one with its package, will take it."""

UNKNOWN_REMEDY = "install the package that has this job type, or name its module in POSTROOM_JOBS"


class LedgerLoop:
    """One worker command's loop. All of it runs in the main thread, but for `deliver`."""

    def __init__(self, process: Runtime, monotonic: Callable[[], float] = time.monotonic) -> None:
        """Prepare; `attach` begins."""
        self._process = process
        self._monotonic = monotonic
        self._pace = Pace()
        self._unknown = LogLimit()
        self._held = HeldJobs()
        self._names = process.broker_names
        self._claims = Claims(process, monotonic)
        self._settlements = Settlements(process, self._held, self._release, monotonic)
        self._adoption = Adoption(process, monotonic)
        self.revocations = Revocations(process)
        self._events = TaskEvents(process.clock)
        self.pool = PoolDispatcher(self.deliver, self._events, process.clock, monotonic)
        self._births = process.births
        self._ready: deque[ClaimedJob] = deque()
        self._consumer: Any = None
        self._thread = threading.get_ident()
        self._next_turn = 0.0
        self._timer: Any = None
        self.attached = False
        self.database_away = False
        self.checked_at = self._monotonic()
        """When the event loop last came round to `check`, which it does each second however little there is to do."""
        self.reached_at = self._monotonic()
        """When the ledger last answered a turn, or there was nothing to ask it."""

    def attach(self, consumer: Any) -> None:  # noqa: ANN401 - Celery ships no types
        """Take part in this consumer's event loop; called again after each reconnection to the broker."""
        self._consumer = consumer
        self.pool.attach(consumer)
        self._events.attach(consumer)
        self._claims.attach(consumer.connection_errors)
        self._adoption.attach(consumer.connection_errors)
        self._births.attach(consumer.served_queues(), self._wake)
        if not self.attached:
            self.attached = True
            consumer.hub.call_repeatedly(CHECK_S, self.check)
        self._ask_for_more()
        self._arm()

    def received(self, message: Any) -> None:  # noqa: ANN401 - a kombu message
        """Note what a message says: the jobs of a hint are claimed in the next turn that has room for them."""
        said = border.read(message, self._names)
        if isinstance(said, HintMessage):
            self._births.fill(sum(count for _, count in said.named))
            self._claims.receive(message, said)
        else:
            self._adoption.receive(message, said)
        self._arm()

    def deliver(self, reports: Sequence[Report]) -> None:
        """Take what came of jobs in the pool; from any thread."""
        self._settlements.add(reports)
        if threading.get_ident() == self._thread:
            self._arm()
        elif self._ready or self._timer is None:
            # Otherwise a turn is set already, and a loop that wakes for nothing takes the interpreter from the pool.
            self._consumer.hub.call_soon(self._arm)

    def turn(self) -> None:
        """Claim what there is room for, hand it to the pool, and settle what came back while the pool runs it."""
        self._timer = None
        turn_age = self._process.turn_age
        try:
            self._claims.doubt(self._births.doubts())
            self._claims.return_doubtful()
            turn_age.progressed()
            if self._lease_lasts():
                self._hold(self._claim())
            self._dispatch()
            try:
                self._settlements.write()
            finally:
                self._adoption.write()
        except DatabaseUnavailable as failure:
            if not self.database_away:
                log.warning("ledger_unavailable", reason=failure.reason)
            self.database_away = True
            self._next_turn = self._monotonic() + DATABASE_RETRY_S
        else:
            self.database_away = False
            self._next_turn = self._monotonic() + (WINDOW_S if self._held else 0.0)
        turn_age.progressed()
        self._hold_born()
        self._dispatch()
        self._ask_for_more()
        self._births.offer(self._capacity().free_slots if self._may_claim and not self._claims.inbox.hints else 0)
        is_in_doubt = self.database_away and self._claims.in_doubt
        if self._settlements.is_due or self._adoption.is_due or is_in_doubt or self._can_claim():
            self._arm()

    def check(self) -> None:
        """Give back claims and hints that found no room, write and announce the starts of long jobs, and turn.

        Whatever ended the last turn, or kept it from claiming, the next one comes. A turn with nothing to do asks
        nobody, and shows the watchdog that the loop lives.
        """
        self.checked_at = self._monotonic()
        if not self.database_away:
            self.reached_at = self.checked_at
        if self._claims.inbox.hints and not self._can_claim():
            self._claims.share_stale()
            self._ask_for_more()
        if self._monotonic() - self.pool.moved_at > CHECK_S:
            # Suspects that found this process at work have been put off already.
            self._give_back("no slot became free")
            self._claims.suspects.clear()
        self._arm()
        self.pool.announce_starts()
        self._record_starts()

    def stop(self) -> None:
        """Claim nothing more, and give back what has not begun."""
        self._births.offer(0)
        self._claims.inbox.clear()
        self._claims.suspects.clear()
        if self.attached:  # a start that failed has claimed nothing, and there is no event loop to settle it in
            self._give_back("shutdown")

    def held(self) -> Sequence[ClaimedJob]:
        """The jobs that are claimed and not settled."""
        return tuple(self._held)

    @property
    def idle(self) -> bool:
        """Whether everything that was claimed here is settled, and everything canceled that was to be."""
        return not (self._held or self._births.is_busy or self._settlements or self.revocations.is_busy)

    def condition(self, broker_age_s: float) -> WorkerCondition:
        """What the watchdog looks at; from any thread."""
        return WorkerCondition(
            self._process.turn_age.seconds,
            self.pool.slots,
            self.pool.overdue,
            self._process.lease.margin().total_seconds(),
            broker_age_s,
            self.database_away,
        )

    def health(self, broker_age_s: float = 0.0) -> dict[str, object]:
        """What an operator wants to know of a worker that seems to stand still."""
        condition = self.condition(broker_age_s)
        return {
            "database": "away" if self.database_away else "reached",
            "hinted": self._claims.inbox.hints,
            "unwritten_messages": len(self._adoption),
            "held": len(self._held),
            "waiting": len(self._ready),
            "slots": self.pool.slots,
            "settlements_refused": self._settlements.refused,
            "lease_left_s": round(condition.lease_left_s, 1),
            "turn_age_s": round(condition.turn_age_s, 1),
            "overdue_slots": condition.overdue_slots,
            "broker_age_s": round(condition.broker_age_s, 1),
            "symptoms": [symptom.reason for symptom in symptoms(condition)],
        }

    def _arm(self) -> None:
        """Fill the slots that became free, and let a turn come as soon as its time has come."""
        self._hold_born()
        self._dispatch()
        if self._timer is None:
            all_ended = len(self._settlements) >= len(self._held)
            is_due = all_ended and not self.database_away
            wait_s = 0.0 if is_due else max(0.0, self._next_turn - self._monotonic())
            self._timer = self._consumer.hub.call_later(wait_s, self.turn)

    def _wake(self) -> None:
        """Have what was born claimed begin; from any thread."""
        if threading.get_ident() != self._thread:
            self._consumer.hub.call_soon(self._arm)

    def _hold_born(self) -> None:
        """Hold what settlements have claimed; a worker that stops gives it back."""
        self._hold(self._births.born())
        if self._ready and self._process.stopping.is_set():
            self._give_back("shutdown")

    def _capacity(self) -> Capacity:
        """What the worker has taken on; a job that was reported has left its slot, and a suspect takes all of them."""
        held = len(self._held)
        slots, jobs = (0, held) if self._is_for_suspects else (self.pool.slots, held - self._settlements.off_slots)
        return Capacity(slots, jobs, self._held.work_s * jobs / held if held else 0.0)

    @property
    def _is_for_suspects(self) -> bool:
        """Whether nothing else may begin here, because a suspect runs or waits until the process holds nothing."""
        return self.pool.is_exclusive or bool(self._claims.suspects)

    @property
    def _is_alone(self) -> bool:
        return not (self._held or self._claims.in_doubt)

    def _claim(self) -> Sequence[ClaimedJob]:
        if self._claims.suspects:
            return self._claims.claim_suspect() if self._is_alone else ()
        return self._claims.claim(self._capacity().plus(self._births.taken, 0.0), self._pace)

    @property
    def _may_claim(self) -> bool:
        return not self._process.stopping.is_set() and self._lease_lasts()

    def _can_claim(self) -> bool:
        if not self._may_claim:
            return False
        if self._claims.suspects:
            return self._is_alone
        if not self._claims.inbox.hints:
            return False
        return self._capacity().has_room(self._claims.expect(self._claims.inbox.first, self._pace))

    def _lease_lasts(self) -> bool:
        lease = self._process.lease
        return may_claim(lease.margin(), lease.length)

    def _hold(self, claimed: Sequence[ClaimedJob]) -> None:
        self._events.received(claimed)
        for job in claimed:
            self._held.add(job, self._pace.expects(job.job_type))
            back = self._for_another_worker(job)
            if back is None:
                self._ready.append(job)
            else:
                self._settlements.add([Report(job.job_id, job.token, "returned", back)])

    def _for_another_worker(self, job: ClaimedJob) -> Settlement | None:
        """How a job goes back whose type, or whose version of the payload, this worker does not know."""
        known = catalogue.find(job.job_type)
        if known is None:
            if self._unknown.note(self._monotonic()):
                log.warning(
                    "job_type_unknown_here", job_type=job.job_type, job_id=str(job.job_id), remedy=UNKNOWN_REMEDY
                )
            return Settlement.unstarted(job, "unknown type", self._process.clock() + UNKNOWN_TYPE_WAIT)
        if job.payload_version <= known.declared.version:  # as nearly every job; the clock is not asked
            return None
        return give_back_newer(job, known.declared.version, self._process.clock())

    def _dispatch(self) -> None:
        while self._ready and self.pool.has_room_for(self._ready[0]):
            count, expected_s = self._pace.batch(shareable(self._ready))
            if not self.pool.begins_soon(expected_s):
                break
            self.pool.send([self._ready.popleft() for _ in range(count)], expected_s)

    def _release(self, settled: Sequence[Report], refused: Collection[UUID]) -> None:
        """Hold these jobs no more, announce the ends that were not refused, and learn how long they took."""
        measured: dict[str, list[float]] = {}
        ends: list[tuple[ClaimedJob, Report]] = []
        for report in settled:
            job = self._held.remove(report.job_id, report.token)
            if job is not None:
                if not refused or job.job_id not in refused:
                    ends.append((job, report))
                if report.seconds is not None:
                    measured.setdefault(job.job_type, []).append(report.seconds)
        self.pool.announce_starts()
        self._events.ended(ends)
        for job_type, seconds in measured.items():
            self._pace.learn(job_type, seconds)

    def _ask_for_more(self) -> None:
        """Let the broker send as many messages as could begin soon, and none while no slot is free."""
        inbox, capacity = self._claims.inbox, self._capacity()
        wanted = capacity.free_slots
        if inbox.hints or self._held:
            claims, pace = self._claims, self._pace
            each_s = claims.expect(inbox.last, pace) if inbox.hints else pace.expects(self._held.newest.job_type)
            wanted = capacity.hints_wanted(inbox.hints, each_s, 2 * MOST_AT_ONCE)
        # A message that waits for somebody else's lock must not take the place of a hint.
        unwritten = min(len(self._adoption), MOST_UNWRITTEN)
        self._consumer.ask_for(inbox.messages + unwritten + ceil(wanted / inbox.bundled))

    def _give_back(self, cause: str) -> None:
        jobs = list(self._ready)
        self._ready.clear()
        if jobs:
            self.deliver([Report(job.job_id, job.token, "returned", Settlement.unstarted(job, cause)) for job in jobs])

    def _record_starts(self) -> None:
        """Write when jobs began: those that run, and those whose ends somebody has locked.

        Without its start, an attempt that outlasts its deadline would not be counted. A start that is written stays.
        """
        begun = [(job, batch) for job, batch in self.pool.running() if not job.started and batch.recorded != job.job_id]
        starts = [(job.job_id, job.token, batch.began_at or batch.sent_at) for job, batch in begun]
        starts += self._settlements.starts()
        if not starts:
            return
        try:
            with self._process.database.pinned() as tx:
                written = ledger.record_starts(tx, starts)
        except Failure as failure:
            log.warning("starts_not_recorded", jobs=len(starts), reason=failure.reason)
            return
        for job, batch in begun:
            batch.recorded = job.job_id if job.job_id in written else batch.recorded
