"""The relay: moves due jobs from the ledger to the broker and rescues lost ones; an advisory lock makes one leader."""

import threading
import time
from uuid import uuid4

import structlog

from domain.jobs.failures import Failure
from engine.process.runtime import Runtime
from engine.relay.backlog import BacklogPublisher
from engine.relay.broker import Broker, BrokerAway
from engine.relay.unpark import Unparker
from storage.ledger import gates, recovery, relay, retention

log = structlog.get_logger(__name__)

BATCH = 1000
"""Jobs per statement: large enough to keep up, small enough never to hold locks for long."""


class Relay(threading.Thread):
    """Runs in every worker command; leads when it holds the lock, and stands by otherwise."""

    def __init__(self, runtime: Runtime) -> None:
        """Prepare; `start()` begins."""
        super().__init__(name="relay", daemon=True)
        self._runtime = runtime
        self._stopped = threading.Event()
        self._broker = Broker(runtime)
        self._publisher = BacklogPublisher(runtime, self._broker)
        self._unparker = Unparker(runtime)

    def run(self) -> None:
        """Stand by until the lock is free, lead while it is held, and begin again whenever the database goes away."""
        while not self._stopped.is_set():
            try:
                with self._runtime.database.session() as session:
                    self._stand_by(session)
                    self._lead(session)
            except Failure as error:
                log.warning("relay_interrupted", error=type(error).__name__)
                self._stopped.wait(self._runtime.settings.relay_interval_s)

    def stop(self) -> None:
        """Stop leading; another worker takes over as soon as the session is closed."""
        self._stopped.set()

    def _stand_by(self, session: relay.Session) -> None:
        while not self._stopped.is_set() and not relay.lead(session):
            if relay.depose(session, self._runtime.lease.length):
                log.warning("silent_leader_deposed")
            self._stopped.wait(self._runtime.settings.relay_interval_s)

    def _lead(self, session: relay.Session) -> None:
        if self._stopped.is_set():
            return
        relay.listen(session)
        self._publisher = BacklogPublisher(self._runtime, self._broker)
        self._publisher.begin()
        log.info("relay_leads")
        due_at = time.monotonic()
        while not self._stopped.is_set():
            more = False
            if time.monotonic() >= due_at:
                more = self.turn()
                due_at = time.monotonic() + (0 if more else self._runtime.settings.relay_interval_s)
            # A leader that has much to do must be heard all the same, or another would depose it.
            pause = min(self.feed(), max(due_at - time.monotonic(), 0))
            if relay.GATE in relay.wait(session, 0 if more else pause):
                due_at = time.monotonic()

    def feed(self) -> float:
        """Fill each queue's window from the backlog once; returns in how many seconds to do it again."""
        return self._publisher.turn()

    def turn(self) -> bool:
        """One round: rescue, watch the broker's epoch, look at what is due, unpark; true when more is to do at once."""
        database = self._runtime.database
        with database.ledger() as tx:
            rescued = recovery.rescue(tx, batch=BATCH)
            retention.forget_workers(tx)
            opened = gates.forget_ended(tx)
        if rescued.job_ids:
            log.warning("jobs_rescued", jobs=len(rescued.job_ids))
        unparked = self._unparker.turn(opened)
        if not self._broker_answers():
            # What cannot go out must not be marked as published, or it would wait for its hint timeout.
            return False
        with database.ledger() as tx:
            due = relay.publish_due(
                tx, batch=BATCH, hint_timeout=self._runtime.hint_timeout, burst=self._runtime.settings.burst
            )
        self._runtime.publisher.publish([*rescued.hints, *due.hints])
        return unparked or due.moved == BATCH

    def _broker_answers(self) -> bool:
        """Whether the broker is there; when it holds other data than before, every hint goes out again."""
        with self._runtime.database.ledger() as tx:
            known = relay.known_epoch(tx)
        try:
            epoch = self._broker.read_or_set_epoch(str(uuid4()), known)
        except BrokerAway as away:
            log.warning("broker_unavailable", error=str(away))
            return False
        if epoch is not None and epoch != known:
            log.warning("broker_holds_other_data", first=known is None)
            self._recall(epoch)
        return True

    def _recall(self, epoch: str) -> None:
        """Remembered last: a relay that dies half-way is followed by one that begins again."""
        recalled = BATCH
        while recalled == BATCH:
            with self._runtime.database.statements() as tx:
                recalled = relay.recall_hints(tx, batch=BATCH)
        with self._runtime.database.ledger() as tx:
            relay.remember_epoch(tx, epoch)
