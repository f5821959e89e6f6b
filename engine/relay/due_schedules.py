"""Fires what is due: schedules, each in a transaction of its own, and reminders, a thousand in one statement.

What cannot run, and what somebody has locked, holds up nothing of another org.
"""

import time
from collections.abc import Collection, Sequence
from uuid import UUID

import structlog

from domain.jobs.failures import Conflict, Forbidden, Invalid
from engine.runtime import Runtime
from storage.postgres.apart import together_or_apart
from storage.postgres.execution import StatementAborted
from storage.schedules import reminders, schedules
from storage.schedules.reminders import DueReminder
from storage.schedules.schedules import Due

log = structlog.get_logger(__name__)

MOST_PER_TURN = 20
"""A tenth of a second's work, at 5 ms for each; the leader's other duties come in between."""

REST_S = 10.0
"""How long what is due in an org rests when some of it had to wait for a key that somebody has locked."""

MOST_REMINDERS = 1_000
"""A third of a second's work, for the same reason."""


class _RestingOrgs:
    """Orgs in which nothing is fired for a while, by the monotonic clock."""

    def __init__(self) -> None:
        self._until: dict[UUID, float] = {}

    def now(self) -> Collection[UUID]:
        """Those that rest; the others are forgotten."""
        now = time.monotonic()
        self._until = {org_id: until for org_id, until in self._until.items() if until > now}
        return self._until.keys()

    def add(self, org_id: UUID) -> None:
        """Let one rest from now on."""
        self._until[org_id] = time.monotonic() + REST_S


class DueSchedules:
    """Part of the leading relay; a row lock keeps two leaders from firing one schedule."""

    def __init__(self, runtime: Runtime) -> None:
        """Begin with any org: the ledger knows what is due."""
        self._runtime = runtime
        self._last_org = schedules.FIRST_ID
        self._resting = _RestingOrgs()

    def turn(self) -> bool:
        """Enqueue the jobs of due schedules, the orgs in turns; true when more may be due."""
        with self._runtime.database.ledger() as tx:
            found = schedules.list_due(tx, after=self._last_org, besides=self._resting.now(), limit=MOST_PER_TURN)
        fired = [self._fire(schedule_id) for schedule_id, org_id in found if org_id not in self._resting.now()]
        if found:
            self._last_org = found[-1][1]
        return any(fired) and len(found) == MOST_PER_TURN

    def _fire(self, schedule_id: UUID) -> bool:
        due: Due | None = None
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


class DueReminders:
    """Part of the leading relay. A reminder's state and the key of its job keep two leaders from firing it twice."""

    def __init__(self, runtime: Runtime, *, most: int = MOST_REMINDERS) -> None:
        """Begin with any org: the table knows what is due."""
        self._runtime, self._most = runtime, most
        self._resting = _RestingOrgs()
        self._served: frozenset[UUID] = frozenset()
        """Orgs that have had their turn while others wait: many reminders of one org hold up those of no other."""

    def turn(self) -> bool:
        """Enqueue the jobs of due reminders, the orgs in turns; true when more may be due."""
        served, resting = self._served, self._resting.now()
        with self._runtime.database.ledger() as tx:
            due = reminders.list_due(tx, besides={*resting, *served}, limit=self._most)
            if served and not due:
                served = frozenset()
                due = reminders.list_due(tx, besides=resting, limit=self._most)
        is_full = len(due) == self._most
        self._served = served.union(one.org_id for one in due) if is_full else frozenset()
        left = together_or_apart(due, lambda one: one.org_id, self._fire)
        for org_id in {one.org_id for one in left}:
            log.warning("reminders_postponed", org_id=str(org_id))
            self._resting.add(org_id)
        return len(left) < len(due) if is_full else bool(served)

    def _fire(self, due: Sequence[DueReminder]) -> None:
        with self._runtime.database.ledger() as tx:
            tx.wait_briefly()
            reminders.fire(tx, due, hint_timeout=self._runtime.hint_timeout)
