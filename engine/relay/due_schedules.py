"""Fires schedules: each due one in a transaction of its own, so that one which cannot run holds up no other."""

import structlog

from domain.jobs.failures import Conflict, Forbidden, Invalid
from engine.runtime import Runtime
from storage.schedules import schedules
from storage.schedules.schedules import Due

log = structlog.get_logger(__name__)

MOST_PER_TURN = 100
"""A tenth of a second's work; the leader's other duties come in between."""


class DueSchedules:
    """Part of the leading relay; a row lock keeps two leaders from firing one schedule."""

    def __init__(self, runtime: Runtime) -> None:
        """Nothing is kept between turns: the ledger knows what is due."""
        self._runtime = runtime

    def turn(self) -> bool:
        """Enqueue the jobs of due schedules; true when more may be due."""
        return all(self._fire_one() for _ in range(MOST_PER_TURN))

    def _fire_one(self) -> bool:
        due: Due | None = None
        try:
            with self._runtime.database.ledger() as tx:
                due = schedules.take_due(tx)
                if due is None:
                    return False
                schedules.fire(tx, due, hint_timeout=self._runtime.hint_timeout)
        except (Invalid, Forbidden, Conflict) as refusal:
            if due is None:
                raise
            # Its job type is gone, or a zone: nothing that the next turn would find otherwise.
            log.warning("schedule_stopped", schedule=str(due.schedule.schedule_id), reason=refusal.reason)
            with self._runtime.database.ledger() as tx:
                schedules.stop(tx, due.schedule, refusal.reason)
        return True
