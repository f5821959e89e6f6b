"""What is wrong with the fleet and keeps no gateway from its own work: looked at after readiness, and logged."""

import time
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from threading import Lock

import structlog

from observability.log_limit import LogLimit
from operations.fleet_checks import FLEET_CHECKS, LedgerCheck, Looking
from operations.health import provider_check
from providers.sliding_windows import SlidingWindows
from settings import Settings
from storage.jobs.ledger import read_time
from storage.postgres.database import Database
from storage.postgres.readiness import Check, guarded

log = structlog.get_logger(__name__)

LOOK_EVERY_S = 60.0
"""Probes come every few seconds from several places, and a look reads what is sealed of all mailboxes."""

SHOWN: Sequence[tuple[str, LedgerCheck]] = (*FLEET_CHECKS, ("providers", provider_check))
"""What may be said to whoever asks: `/readyz` knows nobody, so it names no tenant and no mailbox."""


class FleetFindings:
    """Looks when readiness is said; `found` is what was seen at `looked_at`, nothing while PostgreSQL is silent."""

    def __init__(self, database: Database, settings: Settings, machine_clock: Callable[[], datetime]) -> None:
        """Prepare; nothing connects yet."""
        self.found: Sequence[Check] = ()
        self.looked_at: datetime | None = None
        self._database = database
        self._settings = settings
        self._machine_clock = machine_clock
        self._counter = SlidingWindows(settings.counting_url)
        self._looking = Lock()
        self._look_again_at = 0.0
        self._said: dict[str, LogLimit] = {}

    def look(self, ready: Sequence[Check]) -> None:
        """Look, unless that was done a moment ago or PostgreSQL does not answer; log whatever is wrong.

        `ready` is what was just found of readiness. While somebody looks, whoever comes does nothing: a look may wait
        for a row that is locked.
        """
        if not self._looking.acquire(blocking=False):
            return
        try:
            self._look_after(ready, time.monotonic())
        finally:
            self._looking.release()

    def _look_after(self, ready: Sequence[Check], now: float) -> None:
        for check in ready:
            self._report(check, now)
        found = self.found
        if not all(check.answers for check in ready):
            found, self._look_again_at, self.looked_at = (), 0.0, None
        elif now >= self._look_again_at:
            found, self._look_again_at = self._look(), now + LOOK_EVERY_S
            self.looked_at = self._machine_clock()
        for check in found:
            self._report(check, now)
        self.found = found

    def _look(self) -> Sequence[Check]:
        return [self._count(), *(guarded(name, partial(self._ask, check)) for name, check in SHOWN)]

    def _ask(self, check: LedgerCheck) -> Check:
        with self._database.ledger() as tx:
            return check(Looking(tx, self._settings, read_time(tx), self._machine_clock))

    def _count(self) -> Check:
        """Whether requests are counted for all gateways; the broker counts them where no other Redis is set."""
        diagnosis = self._counter.diagnosis(self._settings.counting_setting)
        if diagnosis is None:
            return Check("rate limits", ok=True, finding="requests are counted")
        finding = f"requests are not counted: {diagnosis.finding}"
        return Check("rate limits", ok=False, finding=finding, remedy=diagnosis.remedy)

    def _report(self, check: Check, now: float) -> None:
        said = self._said.setdefault(check.name, LogLimit())
        if check.ok:
            if said.end():
                log.warning("recovered", check=check.name)
        elif said.note(now):
            log.warning("found_wrong", check=check.name, finding=check.finding, remedy=check.remedy)
