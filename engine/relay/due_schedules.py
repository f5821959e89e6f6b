"""Fires the schedules that are due, each in a transaction of its own.

What cannot run, and what somebody has locked, holds up nothing of another org.
"""

from uuid import UUID

import structlog

from domain.jobs.failures import Conflict, Forbidden, Invalid
from engine.relay.resting_orgs import RestingOrgs
from engine.runtime import Runtime
from storage.jobs.schedules import schedules
from storage.jobs.schedules.schedules import DueSchedule
from storage.postgres.execution import StatementAborted

log = structlog.get_logger(__name__)

MOST_PER_TURN = 20
"""A tenth of a second's work, at 5 ms for each; the leader's other duties come in between."""


class DueSchedules:
    """Part of the leading relay; a row lock keeps two leaders from firing one schedule."""

    def __init__(self, runtime: Runtime) -> None:
        """Begin with any org: the ledger knows what is due."""
        self._runtime = runtime
        self._last_org = schedules.FIRST_ID
        self._resting = RestingOrgs()

    def turn(self) -> bool:
        """Enqueue the jobs of due schedules, the orgs in turns; true when more may be due."""
        with self._runtime.database.ledger() as tx:
            found = schedules.list_due(tx, after=self._last_org, besides=self._resting.now(), limit=MOST_PER_TURN)
        fired = [self._fire(schedule_id) for schedule_id, org_id in found if org_id not in self._resting.now()]
        if found:
            self._last_org = found[-1][1]
        return any(fired) and len(found) == MOST_PER_TURN

    def _fire(self, schedule_id: UUID) -> bool:
        due: DueSchedule | None = None
        try:
            with self._runtime.database.ledger() as tx:
                tx.wait_briefly()
                due = schedules.take_due(tx, schedule_id)
                if due is None:
                    return False
                schedules.fire(tx, due, hint_timeout=self._runtime.hint_timeout)
        except StatementAborted as aborted:
            if due is None:
                raise
            log.warning("schedule_postponed", schedule=str(due.schedule.schedule_id), reason=aborted.reason)
            self._resting.add(due.schedule.org_id)
        except (Invalid, Forbidden, Conflict) as refusal:
            if due is None:
                raise
            # Its job type is gone, or a zone: nothing that the next turn would find otherwise.
            log.warning("schedule_stopped", schedule=str(due.schedule.schedule_id), reason=refusal.reason)
            with self._runtime.database.ledger() as tx:
                schedules.stop(tx, due.schedule, refusal.reason)
        return True
