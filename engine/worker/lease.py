"""Keeps a process's lease: one thread that renews one row, so that long jobs keep their claims.

It renews only while the ledger loop makes progress: the lease says that the jobs are worked on.
"""

import threading

import structlog

from domain.jobs.failures import Failure
from domain.jobs.monitoring.liveness import may_renew
from engine.clocks import steady
from engine.runtime import Runtime
from storage.jobs import ledger

log = structlog.get_logger(__name__)


class LeaseKeeper(threading.Thread):
    """Renews the process's lease for as long as the process lives."""

    def __init__(self, runtime: Runtime) -> None:
        """Prepare; `start()` begins."""
        super().__init__(name="lease", daemon=True)
        self._runtime = runtime

    def run(self) -> None:
        """Renew, wait, renew; a database that is away is tried again soon, for the lease runs on."""
        pause = threading.Event()
        while True:
            pause.wait(self._runtime.settings.heartbeat_s if self._renewed() else 1.0)

    def _renewed(self) -> bool:
        if not may_renew(self._runtime.turn_age.seconds):
            log.warning("lease_not_renewed", reason="the ledger loop stands still")
            return False
        try:
            renew(self._runtime)
        except Failure as failure:
            log.warning("lease_not_renewed", reason=failure.reason)
            return False
        return True


def renew(runtime: Runtime) -> None:
    """Write the process's lease once."""
    began = steady()
    with runtime.database.statements() as tx:
        at = ledger.renew_lease(tx, runtime.worker, runtime.lease.length)
    runtime.database_clock.learn(at, began)
    runtime.lease.renewed_at = began
