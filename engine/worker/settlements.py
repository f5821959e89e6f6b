"""Writes what came of jobs, many in one statement; one that cannot be written keeps no other from its end."""

from collections.abc import Callable, Collection, Hashable, Sequence
from uuid import UUID

import structlog

from domain.jobs.failures import Failure, Invalid
from domain.jobs.lifecycle import Settlement
from engine.enqueue import LARGEST_FAMILY
from engine.runtime import Runtime
from engine.worker import runner
from engine.worker.capacity import HeldJobs
from engine.worker.execution import Report
from storage.ledger import ledger
from storage.ledger.ledger import Settled
from storage.postgres.apart import WaitingWork
from storage.postgres.execution import DatabaseError

log = structlog.get_logger(__name__)

MOST_AT_ONCE = 1024
"""Settlements per statement, as many as claims."""

UNWRITABLE = (ArithmeticError, LookupError, TypeError, ValueError, DatabaseError)
"""What is raised for a value that Python cannot write down for PostgreSQL, and for a row that PostgreSQL refuses."""


class Settlements:
    """The reports of one worker's pool that are not written yet."""

    def __init__(
        self,
        process: Runtime,
        held: HeldJobs,
        release: Callable[[Sequence[Report], Collection[UUID]], object],
    ) -> None:
        """`held` are the jobs that reports may come of.

        `release` is called with what was written after each statement, and with the jobs whose claims were lost.
        """
        self._process = process
        self._held = held
        self._release = release
        self._waiting = WaitingWork(self._group_of, self._settle, self._refuse, _share_of)
        self._may_wait = False
        self.refused = 0
        """Settlements whose claims were lost, since this worker began."""

    def __len__(self) -> int:
        """How many reports wait."""
        return len(self._waiting)

    @property
    def is_due(self) -> bool:
        """Whether some of them can be written now."""
        return self._waiting.is_due

    @property
    def off_slots(self) -> int:
        """Jobs that have left their slots to others.

        Those beyond a thousand that rest hold theirs: what one org can pile up here, with its children, has an end.
        """
        return len(self) - max(0, self._waiting.resting - MOST_AT_ONCE)

    def add(self, reports: Sequence[Report]) -> None:
        """Take reports; from any thread."""
        self._waiting.add(reports)

    def write(self) -> None:
        """Settle some of what was reported; raises `DatabaseUnavailable`.

        Whatever is raised, the other reports are kept: what came of these jobs is known here and nowhere else.
        """
        self._may_wait = not self._waiting.resting
        if locked := self._waiting.turn():
            log.warning("settlements_put_off", jobs=locked, reason="somebody has locked what they need")

    def _settle(self, reports: Sequence[Report]) -> None:
        """Settle these reports in one statement, and put off those whose jobs somebody has locked.

        Only the first try of a turn waits for the row of a job, and none while something rests: one handler that holds
        its job's row keeps no other job from its end. Nothing tells whether somebody has just taken the unique key of
        a child.
        """
        self._process.turn_age.progressed()
        waits, self._may_wait = self._may_wait, False
        settled = self._write([report.settlement for report in reports if report.settlement is not None], waits=waits)
        if settled.locked:
            self._waiting.put_off([report for report in reports if report.job_id in settled.locked])
            reports = [report for report in reports if report.job_id not in settled.locked]
        self._release(reports, settled.refused)
        self._process.publisher.publish(settled.hints)
        if settled.refused:
            self.refused += len(settled.refused)
            log.warning("settlements_refused", jobs=len(settled.refused), reason="their claims were lost")

    def _write(self, settlements: Sequence[Settlement], *, waits: bool) -> Settled:
        if not settlements:
            return Settled((), ())
        process = self._process
        settle, opened = (
            (ledger.settle, process.database.pinned())
            if waits
            else (ledger.settle_free, process.database.pinned_transaction())
        )
        try:
            with opened as tx:
                return settle(tx, settlements, hint_timeout=process.hint_timeout, burst=process.settings.burst)
        except UNWRITABLE as error:
            raise Invalid("outcome", f"cannot be written: {type(error).__name__}") from error

    def _group_of(self, report: Report) -> Hashable:
        """Who holds a key keeps those parents of the same org only from their ends that have children."""
        job = self._held.find(report.job_id, report.token)
        return job and job.org_id, bool(report.settlement and report.settlement.children)

    def _refuse(self, report: Report, failure: Failure | DatabaseError) -> Report | None:
        """The failure to write in place of a settlement that cannot be written.

        Where not even that can be, a mistake of ours is to blame, and somebody may mend it: the report is kept.
        """
        job = self._held.find(report.job_id, report.token)
        if job is None or report.settlement is None or not isinstance(failure, Failure):
            return None
        if report.instead_of is not None:
            log.error("settlement_unwritable", job_id=str(report.job_id), reason=failure.reason)
            self._waiting.put_off([report.instead_of])
            return None
        result = runner.unwritable(self._process, job, failure, report.settlement.started_at)
        return report._replace(status=result.status, settlement=result.settlement, instead_of=report)


def _share_of(report: Report) -> float:
    """Which part of a statement a report fills, by itself or with its children."""
    children = report.settlement and report.settlement.children
    return max(1 / MOST_AT_ONCE, len(children) / LARGEST_FAMILY) if children else 1 / MOST_AT_ONCE
