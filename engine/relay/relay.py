"""The relay: moves due jobs from the ledger to the broker and rescues lost ones; a leased row makes one leader."""

import threading
import time
from collections.abc import Callable
from uuid import uuid4

import structlog

from domain.jobs.failures import Failure
from engine.relay.backlog import BacklogPublisher
from engine.relay.broker import Broker, BrokerAway
from engine.relay.due_rows import DueRows, due_tables
from engine.relay.due_schedules import DueSchedules
from engine.relay.result_sender import ResultSender
from engine.relay.unpark import Unparker
from engine.runtime import Runtime
from storage.jobs import recovery, relay, retention
from storage.jobs.leadership import Leadership
from storage.postgres.execution import DatabaseError, is_away, reason_of

log = structlog.get_logger(__name__)

BATCH = 1000
"""Jobs per statement: large enough to keep up, small enough never to hold locks for long."""


RENEW_AFTER_S = 2.0
"""How old its lease is when a leader renews it: a fifth of the lease, and one write in two seconds for the fleet."""


class Relay(threading.Thread):
    """Runs in every worker command; leads while it holds the lease, and stands by otherwise."""

    def __init__(self, runtime: Runtime) -> None:
        """Prepare; `start()` begins."""
        super().__init__(name="relay", daemon=True)
        self._holder = uuid4()
        self._renew_at = 0.0
        self._leadership: Leadership | None = None
        self._runtime = runtime
        self._stopped = threading.Event()
        self._broker = Broker(runtime)
        self._publisher = BacklogPublisher(runtime, self._broker)
        self._unparker = Unparker(runtime)
        self._results = ResultSender(runtime)
        self._schedules = DueSchedules(runtime)
        self._due = [DueRows(runtime, table) for table in due_tables]

    def run(self) -> None:
        """Stand by while another leads, lead while the lease is held, and begin again whenever either is lost."""
        while not self._stopped.is_set():
            try:
                with self._runtime.database.session() as session:
                    leadership = Leadership(session, self._holder)
                    self._stand_by(leadership)
                    self._lead(leadership)
                    if self._stopped.is_set():
                        # Even where the stop came between taking the lease and leading by it.
                        leadership.give_up()
            except Failure as error:
                self._leadership = None
                log.warning("relay_interrupted", error=type(error).__name__, reason=error.reason)
                self._stopped.wait(self._runtime.settings.relay_interval_s)
        self._broker.close()

    def stop(self) -> None:
        """Stop leading; another worker takes over as soon as this one has given its lease up."""
        self._stopped.set()

    def _stand_by(self, leadership: Leadership) -> None:
        while not self._stopped.is_set() and not leadership.take():
            self._stopped.wait(min(self._runtime.settings.relay_interval_s, RENEW_AFTER_S))

    def _lead(self, leadership: Leadership) -> None:
        if self._stopped.is_set():
            return
        self._leadership, self._renew_at = leadership, time.monotonic() + RENEW_AFTER_S
        relay.listen(leadership.session)
        self._publisher = BacklogPublisher(self._runtime, self._broker)
        self._publisher.begin()
        log.info("relay_leads")
        due_at = time.monotonic()
        while not self._stopped.is_set() and self.still_leads():
            more = False
            if time.monotonic() >= due_at:
                more = self.turn()
                due_at = time.monotonic() + (0 if more else self._runtime.settings.relay_interval_s)
            pause = min(self.feed(), max(min(due_at, self._renew_at) - time.monotonic(), 0))
            heard = relay.wait(leadership.session, 0 if more else pause)
            if relay.GATE in heard:
                due_at = time.monotonic()
            if relay.RESULT in heard:
                self._results.turn()
        self._leadership = None
        if not self._stopped.is_set():
            log.warning("relay_was_deposed")

    def still_leads(self) -> bool:
        """Renew the lease when it is time to; false when another leads by now."""
        if self._leadership is None or time.monotonic() < self._renew_at:
            return True
        self._renew_at = time.monotonic() + RENEW_AFTER_S
        return self._leadership.take()

    def feed(self) -> float:
        """Fill each queue's window from the backlog once; returns in how many seconds to do it again."""
        return self._publisher.turn()

    def turn(self) -> bool:
        """One round: publish what is due, and then each other duty; true when more is to do at once.

        Each stands alone: what one of them stumbles over keeps no other from its work.
        """
        duties = (
            self._publish_due,
            self._rescue,
            self._schedules.turn,
            *(rows.turn for rows in self._due),
            self._unparker.turn,
            self._results.turn,
            self._forget,
        )
        is_more = [self._alone(duty) for duty in duties]
        return any(is_more)

    def _alone(self, duty: Callable[[], bool]) -> bool:
        try:
            return duty()
        except (Failure, DatabaseError) as error:
            if is_away(error):
                raise
            log.warning("relay_duty_postponed", duty=duty.__qualname__, reason=reason_of(error))
            return False

    def _publish_due(self) -> bool:
        if not self._broker_answers():
            # What cannot go out must not be marked as published, or it would wait for its hint timeout.
            return False
        with self._runtime.database.ledger() as tx:
            due = relay.publish_due(
                tx, batch=BATCH, hint_timeout=self._runtime.hint_timeout, burst=self._runtime.settings.burst
            )
        self._runtime.publisher.publish(due.hints)
        return due.moved == BATCH

    def _rescue(self) -> bool:
        with self._runtime.database.ledger() as tx:
            rescued = recovery.rescue(tx, batch=BATCH)
        self._runtime.publisher.publish(rescued.hints)
        if rescued.job_ids:
            log.warning("jobs_rescued", jobs=len(rescued.job_ids))
        return len(rescued.job_ids) == BATCH

    def _forget(self) -> bool:
        """Forget processes that are gone, and end the sessions of handlers that nobody waits for any more."""
        with self._runtime.database.statements() as tx:
            retention.forget_workers(tx)
            ended = recovery.end_old_sessions(tx)
        if ended:
            log.warning("old_sessions_ended", sessions=ended)
        return False

    def _broker_answers(self) -> bool:
        """Whether the broker is there; when it holds other data than before, every hint goes out again."""
        if not self._runtime.publisher.may_publish:
            return False
        with self._runtime.database.ledger() as tx:
            known = relay.known_epoch(tx)
        try:
            epoch = self._broker.read_or_set_epoch(str(uuid4()), known)
        except BrokerAway:
            return False
        if epoch is not None and epoch != known:
            log.warning("broker_holds_other_data", first=known is None)
            self._recall(epoch)
        return True

    def _recall(self, epoch: str) -> None:
        """Remembered last: a relay that dies half-way is followed by one that begins again."""
        recalled = BATCH
        while recalled == BATCH and self.still_leads():
            with self._runtime.database.statements() as tx:
                recalled = relay.recall_hints(tx, batch=BATCH)
        if recalled == BATCH:
            return
        with self._runtime.database.ledger() as tx:
            relay.remember_epoch(tx, epoch)
