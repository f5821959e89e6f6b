"""The ledger loop: claims what a worker's main process received and settles what its pool brings back, many at a time.

It lives in Celery's event loop and has no thread of its own: what gathers while one statement runs goes into the next.
docs/explanation/ledger-loop.md has the figures, and why nothing gets lost.
"""

import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from datetime import timedelta
from itertools import accumulate
from math import ceil
from typing import Any
from uuid import UUID, uuid4

import structlog
from celery.worker.strategy import default as foreign_strategy

from domain.jobs.failures import Failure, Invalid
from domain.jobs.job import ClaimedJob
from domain.jobs.lifecycle import Settlement
from domain.scheduling.backlog_demand import Sounding
from domain.scheduling.pace import AHEAD, SOON_S, Pace, fitting, may_take, waiting_s
from engine.catalogue import catalogue
from engine.process.database_away import DATABASE_RETRY_S
from engine.process.hints import DRAW, Unreadable, is_ours, read_message
from engine.process.runtime import Runtime
from engine.worker import adoption, runner
from engine.worker.execution import Report
from engine.worker.inbox import Envelope, Hand, Inbox, add_tickets
from engine.worker.pool import Entry, PoolDoor, shareable
from storage.ledger import ledger, recovery
from storage.postgres.execution import DatabaseUnavailable

log = structlog.get_logger(__name__)

WINDOW_S = 0.002
"""How long a turn gathers after the one before; a loop that was idle for longer turns at once."""

FULL = 1024
"""Jobs in one statement, at most. What a turn does once, here and in PostgreSQL, it does with cold caches: a fourth of
this made a light job a tenth dearer. Twice as many are hardly cheaper, and the event loop stands still for longer."""

UNWRITABLE = (ArithmeticError, LookupError, TypeError, ValueError)
"""What Python raises for a value that it cannot write down for PostgreSQL."""

CHECK_S = 1.0
"""How often the loop looks whether what it has claimed begins, and writes which long jobs have begun."""

STRANGE_WAIT = timedelta(seconds=30)
"""How long a job rests whose type this worker does not know; a newer worker will take it."""


class LedgerLoop:
    """One worker command's loop. All of it runs in the main thread, but for `deliver`."""

    def __init__(self, process: Runtime) -> None:
        """Prepare; `attach` begins."""
        self._process = process
        self._pace = Pace()
        self._door = PoolDoor(self.deliver, process.clock)
        self._consumer: Any = None
        self._inbox = Inbox()
        self._ready: deque[Entry] = deque()
        self._reports: deque[Report] = deque()
        self._held: dict[tuple[int, int], tuple[ClaimedJob, float]] = {}
        """By the numbers of job and token, because a UUID computes its hash in Python."""
        self._load_s = 0.0
        self._doubts: list[tuple[UUID, float]] = []
        """Tokens of claims that were not answered, and until when they may still be committed."""
        self._doubted_at = -CHECK_S
        self._drawn = ""
        self._sounding = Sounding()
        self._thread = threading.get_ident()
        self._next_turn = 0.0
        self._timer: Any = None
        self._attached = False
        self._refused = 0
        """Settlements whose claims were lost, since this worker began."""
        self.database_away = False

    def attach(self, consumer: Any) -> None:  # noqa: ANN401 - Celery ships no types
        """Take part in this consumer's event loop; called again after each reconnection to the broker."""
        self._consumer = consumer
        self._door.attach(consumer)
        self._inbox = Inbox()  # the broker, or the relay, brings back what was not acknowledged
        if not self._attached:
            self._attached = True
            consumer.hub.call_repeatedly(CHECK_S, self.check)
        self._ask_for_more()
        self._arm()

    def received(self, message: Any) -> None:  # noqa: ANN401 - a kombu message
        """Note the jobs that a message speaks of; they are claimed in the next turn that has room for them."""
        task = message.headers["task"]
        try:
            named = read_message(message.delivery_info["routing_key"], message.headers)
        except Unreadable as problem:
            message.reject_log_error(log, self._consumer.connection_errors)
            adoption.refuse(self._process, str(task), str(message.headers["id"]), problem.field, problem.reason)
            return
        self._inbox.receive(message, task, named)
        self._arm()

    def deliver(self, reports: Sequence[Report]) -> None:
        """Take what came of jobs in the pool; from any thread."""
        self._reports.extend(reports)
        if threading.get_ident() == self._thread:
            self._arm()
        elif self._ready or self._timer is None:
            # Otherwise a turn is set already, and a loop that wakes for nothing takes the interpreter from the pool.
            self._consumer.hub.call_soon(self._arm)

    def turn(self) -> None:
        """Claim what there is room for, hand it to the pool, and settle what came back while the pool runs it."""
        self._timer = None
        try:
            self._return_doubtful()
            self._claim()
            self._dispatch()
            self._settle()
        except DatabaseUnavailable as failure:
            if not self.database_away:
                log.warning("ledger_unavailable", reason=failure.reason)
            self.database_away = True
            self._next_turn = time.monotonic() + DATABASE_RETRY_S
        else:
            self.database_away = False
            self._next_turn = time.monotonic() + WINDOW_S
        self._dispatch()
        self._ask_for_more()
        if self._reports or (self.database_away and self._doubts) or (self._inbox.hints and self._has_room()):
            self._arm()

    def check(self) -> None:
        """Give back claims that do not begin, and write the starts of jobs that take long."""
        if self._ready and time.monotonic() - self._door.moved_at > CHECK_S:
            self._give_back("no slot became free")
        if self._doubts or self._reports:
            self._arm()
        self._record_starts()

    def stop(self) -> None:
        """Claim nothing more, and give back what has not begun."""
        self._inbox.clear()
        self._give_back("shutdown")

    def take_back_unsent(self) -> None:
        """Give back what the pool has not begun, because it was told to forget it."""
        self._door.take_back_unsent()

    @property
    def idle(self) -> bool:
        """Whether everything that was claimed here is settled."""
        return not (self._held or self._reports)

    def health(self) -> dict[str, object]:
        """What an operator wants to know of a worker that seems to stand still."""
        return {
            "database": "away" if self.database_away else "reached",
            "hinted": self._inbox.hints,
            "held": len(self._held),
            "waiting": len(self._ready),
            "slots": self._door.slots,
            "settlements_refused": self._refused,
            "lease_left_s": round(self._process.lease.margin().total_seconds(), 1),
        }

    def _arm(self) -> None:
        """Fill the slots that became free, and let a turn come as soon as its time has come; an idle loop's has."""
        self._dispatch()
        if self._timer is None:
            self._timer = self._consumer.hub.call_later(max(0.0, self._next_turn - time.monotonic()), self.turn)

    def _has_room(self) -> bool:
        taken, kind = len(self._held) - len(self._reports), self._kind(self._inbox.first)
        room = may_take(self._door.slots, taken, self._load_s, self._pace.expects(kind), light=_light(kind))
        return room and not self._process.stopping.is_set()

    def _kind(self, envelope: Envelope) -> str:
        """What a hint's job will be; a ticket does not say, so probably another of what the last one was."""
        return self._drawn if envelope.task == DRAW else envelope.task

    def _settle(self) -> None:
        reports = [self._reports.popleft() for _ in range(min(len(self._reports), FULL))]
        unwritten = reports
        try:
            self._write([report.settlement for report in reports if report.settlement is not None])
            unwritten = []
        finally:
            # Whatever went wrong: what came of these jobs is known here and nowhere else.
            self._reports.extendleft(reversed(unwritten))
        measured: dict[str, list[float]] = {}
        for report in reports:
            held = self._held.pop((report.job_id.int, report.token.int), None)
            if held is not None:
                self._load_s -= held[1]
                if report.seconds is not None:
                    measured.setdefault(held[0].job_type, []).append(report.seconds)
        for job_type, seconds in measured.items():
            self._pace.learn(job_type, seconds)

    def _write(self, settlements: Sequence[Settlement], *, last: bool = False) -> None:
        if not settlements:
            return
        try:
            with self._process.database.lane() as tx:
                settled = ledger.settle(tx, settlements)
        except DatabaseUnavailable:
            raise
        except Failure as failure:
            self._write_apart(settlements, failure, last=last)
            return
        except UNWRITABLE as error:
            if last:
                raise  # not even a failure can be written: that is a mistake of ours, and no job's
            problem = Invalid("outcome", f"cannot be written: {type(error).__name__}")
            self._write_apart(settlements, problem, last=last)
            return
        self._process.publisher.publish(settled.hints)
        if settled.refused:
            self._refused += len(settled.refused)
            log.warning("settlements_refused", jobs=len(settled.refused), reason="their claims were lost")

    def _write_apart(self, settlements: Sequence[Settlement], failure: Failure, *, last: bool) -> None:
        """What cannot be written of one job must not keep the others: each by itself, that one by its failure."""
        if len(settlements) > 1:
            for settlement in settlements:
                self._write([settlement])
            return
        held = self._held.get((settlements[0].job_id.int, settlements[0].token.int))
        if held is None or last:
            log.error("settlement_unwritable", job_id=str(settlements[0].job_id), reason=failure.reason)
            return
        result = runner.unwritable(self._process, held[0], failure, settlements[0].started_at)
        self._write([result.settlement] if result.settlement else [], last=True)

    def _claim(self) -> None:
        slots, taken = self._door.slots, len(self._held) - len(self._reports)
        hands = self._take_hints(slots, taken)
        if hands:
            self._claim_all(hands, _starts(hands, max(0, slots - taken)))

    def _take_hints(self, slots: int, taken: int) -> Sequence[Hand]:
        hands: list[Hand] = []
        load, room = self._load_s, FULL
        while self._inbox.hints and room:
            first = self._inbox.first
            kind, wanted = self._kind(first), min(room, first.left)
            expected = self._pace.expects(kind)
            fits = fitting(slots, taken + FULL - room, load, expected, wanted, light=_light(kind))
            if fits:
                hands.append(self._inbox.take(fits))
                load += fits * expected
                room -= fits
            if fits < wanted:
                break
        return hands

    def _claim_all(self, hands: Sequence[Hand], starts: Mapping[UUID, bool]) -> None:
        token, process, answered = uuid4(), self._process, False
        try:
            with self._process.database.lane() as tx:
                claims = ledger.claim(
                    tx,
                    list(starts),
                    process.worker.worker_id,
                    lease=process.lease.length,
                    starts=list(starts.values()),
                    tickets=add_tickets(hands),
                    floors=self._sounding.floors,
                    token=token,
                )
            answered = True
        finally:
            if not answered:
                # It may have been committed although its answer was lost or cannot be read; nobody would run the jobs.
                self._doubts.append((token, time.monotonic() + process.settings.statement_timeout_s + CHECK_S))
                self._doubted_at = -CHECK_S
                self._inbox.put_back(hands)
        self._sounding.learn(claims.floors, time.monotonic())
        envelopes = {what: hand.envelope for hand in hands for what, _ in hand.named} if starts else {}
        for job in claims.jobs:
            self._hold(job, envelopes.get(job.job_id) if envelopes else None)
        for message in self._inbox.deal_with(hands):
            message.ack_log_error(log, self._consumer.connection_errors)
        if claims.refused:
            log.info("hints_ignored", jobs={str(job_id): reason for job_id, reason in claims.refused.items()})

    def _return_doubtful(self) -> None:
        """Give back what was claimed without an answer, each second again for as long as it may still be committed."""
        now, process = time.monotonic(), self._process
        if not self._doubts or now < self._doubted_at + CHECK_S:
            return
        with self._process.database.lane() as tx:
            moved = recovery.return_unanswered(tx, [token for token, _ in self._doubts], process.lease.length)
        process.publisher.publish(moved.hints)
        self._doubts = [doubt for doubt in self._doubts if doubt[1] > now]
        self._doubted_at = now

    def _hold(self, job: ClaimedJob, envelope: Envelope | None) -> None:
        if catalogue.find(job.job_type) is None:
            later = self._process.clock() + STRANGE_WAIT
            self._reports.append(
                Report(job.job_id, job.token, "returned", Settlement.unstarted(job, "unknown type", later))
            )
        else:
            self._ready.append((job, None if envelope is None or _light(job.job_type) else envelope.message))
        if envelope is None:
            self._drawn = job.job_type
        expected = self._pace.expects(job.job_type)
        self._held[job.job_id.int, job.token.int] = (job, expected)
        self._load_s += expected

    def _dispatch(self) -> None:
        while self._ready and self._door.has_room:
            count, expected_s = self._pace.batch(shareable(self._ready))
            self._door.send([self._ready.popleft() for _ in range(count)], expected_s)

    def _ask_for_more(self) -> None:
        """Let the broker send as many messages as could begin soon, and none while no slot is free."""
        slots, taken = self._door.slots, len(self._held)
        inbox = self._inbox
        room = slots - taken - inbox.hints
        if inbox.hints or self._held:
            kind = self._kind(inbox.last) if inbox.hints else next(reversed(self._held.values()))[0].job_type
            each_s = max(self._pace.expects(kind), 1e-5)
            soon_s = slots * SOON_S - waiting_s(slots, taken, self._load_s) - inbox.hints * each_s
            most = 2 * FULL if _light(kind) else room + AHEAD
            room = max(room, min(most, int(soon_s / each_s)))
        self._consumer.ask_for(inbox.messages + ceil(max(0, room) / inbox.bundled))

    def _give_back(self, cause: str) -> None:
        jobs = [job for job, _ in self._ready]
        self._ready.clear()
        self.deliver([Report(job.job_id, job.token, "returned", Settlement.unstarted(job, cause)) for job in jobs])

    def _record_starts(self) -> None:
        begun = [(job.job_id, job.token, at) for job, at in self._door.begun() if not job.started]
        if not begun:
            return
        try:
            with self._process.database.lane() as tx:
                ledger.record_starts(tx, begun)
        except Failure as failure:
            log.warning("starts_not_recorded", jobs=len(begun), reason=failure.reason)


def _starts(hands: Sequence[Hand], free: int) -> Mapping[UUID, bool]:
    """The jobs that are named, and whether they start with their claim.

    An ordinary job that finds a free slot begins at once, and its claim says so; others begin in their turn.
    """
    places = accumulate((hand.size for hand in hands), initial=0)
    return {
        what: place < free and _ordinary(hand.envelope.task)
        for first, hand in zip(places, hands, strict=False)
        for place, (what, _) in enumerate(hand.named, first)
        if isinstance(what, UUID)
    }


def _light(job_type: str) -> bool:
    known = catalogue.find(job_type)
    return known is not None and known.light


def _ordinary(job_type: str) -> bool:
    known = catalogue.find(job_type)
    return known is not None and not known.light


def strategy(task: Any, app: Any, consumer: Any, **options: Any) -> Any:  # noqa: ANN401 - Celery's signature
    """Celery's strategy for our tasks: hints go to the loop, jobs of foreign clients to Celery's own requests."""
    take_in = foreign_strategy(task, app, consumer, **options)
    loop: LedgerLoop = consumer.ledger_loop

    def handle(message: Any, body: Any, ack: Any, reject: Any, callbacks: Any, **kwargs: Any) -> None:  # noqa: ANN401 - Celery's signature
        if is_ours(message.headers):
            loop.received(message)
        else:
            take_in(message, body, ack, reject, callbacks, **kwargs)

    return handle
