"""The relay: moves due jobs from the ledger to the broker and rescues lost ones; an advisory lock makes one leader."""

import threading
from uuid import uuid4

import structlog

from domain.failures import Failure
from storage import gates, ledger, relaying
from tasks.broker import BrokerAway, BrokerEpoch
from tasks.runtime import Runtime

log = structlog.get_logger(__name__)

BATCH = 500
"""Jobs per statement: large enough to keep up, small enough never to hold locks for long."""


class Relay(threading.Thread):
    """Runs in every worker command; leads when it holds the lock, and stands by otherwise."""

    def __init__(self, runtime: Runtime) -> None:
        """Prepare; `start()` begins."""
        super().__init__(name="relay", daemon=True)
        self._runtime = runtime
        self._stopped = threading.Event()
        self._epoch = BrokerEpoch(runtime)
        self.leading = threading.Event()

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
            finally:
                self.leading.clear()

    def stop(self) -> None:
        """Stop leading; another worker takes over as soon as the session is closed."""
        self._stopped.set()

    def _stand_by(self, session: relaying.Session) -> None:
        while not self._stopped.is_set() and not relaying.lead(session):
            if relaying.depose(session, self._runtime.lease.length):
                log.warning("silent_leader_deposed")
            self._stopped.wait(self._runtime.settings.relay_interval_s)

    def _lead(self, session: relaying.Session) -> None:
        if self._stopped.is_set():
            return
        relaying.listen(session)
        self.leading.set()
        log.info("relay_leads")
        while not self._stopped.is_set():
            more = self.turn()
            # A leader that has much to do must be heard all the same, or another would depose it.
            relaying.wait(session, 0 if more else self._runtime.settings.relay_interval_s)

    def turn(self) -> bool:
        """One round: rescue, watch the broker's epoch, publish; true when there may be more to do at once."""
        database = self._runtime.database
        with database.ledger() as tx:
            rescued = ledger.rescue(tx, batch=BATCH)
            ledger.forget_workers(tx)
            gates.forget_ended(tx)
        if rescued.job_ids:
            log.warning("jobs_rescued", jobs=len(rescued.job_ids))
        if not self._broker_answers():
            # What cannot go out must not be marked as published, or it would wait for the end of its patience.
            return False
        with database.ledger() as tx:
            hints = relaying.publish_due(tx, batch=BATCH, patience=self._runtime.patience)
        published = self._runtime.publisher.publish([*rescued.hints, *hints])
        return published and len(hints) == BATCH

    def _broker_answers(self) -> bool:
        """Whether the broker is there; when it holds other data than before, every hint goes out again."""
        database = self._runtime.database
        with database.ledger() as tx:
            known = relaying.known_epoch(tx)
        try:
            epoch = self._epoch.read_or_set(str(uuid4()), known)
        except BrokerAway as away:
            log.warning("broker_unavailable", error=str(away))
            return False
        if epoch in {None, known}:
            return True
        with database.ledger() as tx:
            log.warning("broker_holds_other_data", first=known is None)
            relaying.recall_hints(tx)
            relaying.remember_epoch(tx, epoch)
        return True
