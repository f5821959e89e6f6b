"""Writes what came of jobs, many in one statement; one that cannot be written keeps no other from its end."""

from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from uuid import UUID

import structlog

from domain.jobs.failures import Failure, Invalid
from domain.jobs.lifecycle import Settlement
from engine.enqueue import LARGEST_FAMILY
from engine.runtime import Runtime
from engine.worker import runner
from engine.worker.capacity import HeldJobs
from engine.worker.execution import Report
from storage.jobs import ledger
from storage.jobs.answers import Settled, Slots
from storage.postgres.apart import WaitingWork
from storage.postgres.execution import DatabaseError

log = structlog.get_logger(__name__)

MOST_AT_ONCE = 1024
"""Settlements per statement, as many as claims."""

Release = Callable[[Sequence[Report], Collection[UUID]], object]
"""Takes what was written, and the jobs of which it was not, because their claims were lost."""

UNWRITABLE = (ArithmeticError, LookupError, TypeError, ValueError, DatabaseError)
"""What is raised for a value that Python cannot write down for PostgreSQL, and for a row that PostgreSQL refuses."""


class Settlements(WaitingWork[Report]):
    """The reports of one worker's pool that are not written yet."""

    def __init__(self, process: Runtime, held: HeldJobs, release: Release, monotonic: Callable[[], float]) -> None:
        """`held` are the jobs that reports may come of; `release` is called after each statement."""
        super().__init__(monotonic)
        self._process = process
        self._held = held
        self._release = release
        self._may_wait = False
        self.refused = 0
        """Settlements whose claims were lost, since this worker began."""

    @property
    def off_slots(self) -> int:
        """Jobs that have left their slots to others.

        Those beyond a thousand that rest hold theirs: what one org can pile up here, with its children, has an end.
        """
        return len(self) - max(0, self.resting - MOST_AT_ONCE)

    def starts(self) -> Iterator[tuple[UUID, UUID, datetime]]:
        """Id, token and begin of jobs whose ends rest, for a thousand of the reports."""
        for report in islice(self._resting, MOST_AT_ONCE):
            if (end := report.settlement) is not None and end.started_at is not None:
                yield end.job_id, end.token, end.started_at

    def write(self) -> None:
        """Settle some of what was reported; raises `DatabaseUnavailable`.

        Whatever is raised, the other reports are kept: what came of these jobs is known here and nowhere else.
        """
        self._may_wait = not self.resting
        if locked := self.turn():
            log.warning("settlements_put_off", jobs=locked, reason="somebody has locked what they need")

    def do(self, items: Sequence[Report]) -> None:
        """Settle reports in one statement, and put off those whose jobs somebody has locked.

        Only the first try of a turn waits for the row of a job, and none while something rests: one handler that holds
        its job's row keeps no other job from its end. Nothing tells whether somebody has just taken the unique key of
        a child.
        """
        self._process.turn_age.progressed()
        waits, self._may_wait = self._may_wait, False
        with self._process.births.claiming() as birth:
            settlements = [report.settlement for report in items if report.settlement is not None]
            settled = self._write(settlements, birth.take(len(settlements)), waits=waits)
            birth.jobs = settled.born
        if settled.locked:
            self.put_off([report for report in items if report.job_id in settled.locked])
            items = [report for report in items if report.job_id not in settled.locked]
        self._release(items, settled.refused)
        self._process.publisher.publish(settled.hints)
        if settled.refused:
            self.refused += len(settled.refused)
            log.warning("settlements_refused", jobs=len(settled.refused), reason="their claims were lost")

    def _write(self, settlements: Sequence[Settlement], slots: Slots, *, waits: bool) -> Settled:
        if not settlements:
            return Settled((), ())
        process, settle = self._process, ledger.settle if waits else ledger.settle_free
        try:
            with process.database.pinned() if waits else process.database.pinned_transaction() as tx:
                return settle(
                    tx, settlements, hint_timeout=process.hint_timeout, burst=process.settings.burst, slots=slots
                )
        except UNWRITABLE as error:
            raise Invalid("outcome", f"cannot be written: {type(error).__name__}") from error

    def org_of(self, item: Report) -> Hashable:
        """The org, and whether children are born: who holds a child's key keeps its own org's parents alone waiting."""
        job = self._held.find(item.job_id, item.token)
        return job and job.org_id, bool(item.settlement and item.settlement.children)

    def share_of(self, item: Report) -> float:
        """A report fills a statement by itself, or with its children."""
        children = item.settlement and item.settlement.children
        return max(1 / MOST_AT_ONCE, len(children) / LARGEST_FAMILY) if children else 1 / MOST_AT_ONCE

    def refuse(self, item: Report, error: Failure | DatabaseError) -> Report | None:
        """The failure to write in place of a settlement that cannot be written.

        Where not even that can be, a mistake of ours is to blame, and somebody may mend it: the report is kept.
        """
        job = self._held.find(item.job_id, item.token)
        if job is None or item.settlement is None or not isinstance(error, Failure):
            return None
        if item.instead_of is not None:
            log.error("settlement_unwritable", job_id=str(item.job_id), reason=error.reason)
            self.put_off([item.instead_of])
            return None
        result = runner.unwritable(self._process, job, error, item.settlement.started_at)
        return item._replace(status=result.status, settlement=result.settlement, instead_of=item)
