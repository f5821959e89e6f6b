"""Writes what came of jobs, many in one statement; one that cannot be written keeps no other from its end."""

import time
from collections import deque
from collections.abc import Hashable, Sequence
from uuid import UUID

import structlog

from domain.jobs.failures import Failure, Invalid
from engine.runtime import Runtime
from engine.worker import runner
from engine.worker.capacity import HeldJobs
from engine.worker.execution import Report
from storage.ledger import ledger
from storage.postgres.apart import together_or_apart
from storage.postgres.execution import DatabaseError

log = structlog.get_logger(__name__)

MOST_AT_ONCE = 1024
"""Settlements per statement, as many as claims."""

REST_SHARE = 4
"""How many times as long as its tries what somebody has locked rests: a fifth of the time is spent so."""

UNWRITABLE = (ArithmeticError, LookupError, TypeError, ValueError, DatabaseError)
"""What is raised for a value that Python cannot write down for PostgreSQL, and for a row that PostgreSQL refuses."""


class Settlements:
    """The reports of one worker's pool that are not written yet."""

    def __init__(self, process: Runtime, held: HeldJobs) -> None:
        """`held` are the jobs that reports may come of."""
        self._process = process
        self._held = held
        self._reports: deque[Report] = deque()
        self._locked: deque[Report] = deque()
        """Put off, for somebody else has locked what they need: tried again apart from all others."""
        self._locked_until = 0.0
        """When they are tried, by the monotonic clock."""
        self._busy: list[Report] = []
        """Of the reports that are being written: those of jobs that somebody else has locked."""
        self._refused: set[tuple[UUID, UUID]] = set()
        """The same: those of which a failure is written instead."""
        self.refused = 0
        """Settlements whose claims were lost, since this worker began."""

    def __len__(self) -> int:
        """How many reports wait."""
        return len(self._reports) + len(self._locked)

    def add(self, reports: Sequence[Report]) -> None:
        """Take reports; from any thread."""
        self._reports.extend(reports)

    def write(self) -> Sequence[Report]:
        """Settle what was reported, and return those reports; raises `DatabaseUnavailable`.

        Whatever is raised, the reports are kept: what came of these jobs is known here and nowhere else.
        """
        written = self._write(self._reports)
        if self._locked and time.monotonic() > self._locked_until:
            written += self._write(self._locked)
        return written

    def _write(self, waiting: deque[Report]) -> list[Report]:
        """Settle some of these reports, and return those that are written.

        Only the first try of new reports waits for a row of a job; later ones leave it out: one handler that holds its
        job's row keeps no other job from its end. Nothing tells whether somebody has just taken the unique key of a
        child: parents are settled org by org then.
        """
        reports = [waiting.popleft() for _ in range(min(len(waiting), MOST_AT_ONCE))]
        is_first = waiting is self._reports
        self._busy, self._refused = [], set()
        began, kept = time.monotonic(), reports
        try:
            put_off = together_or_apart(
                reports,
                self._group_of,
                lambda some: self._settle(some, waits=is_first and len(some) == len(reports)),
                self._refuse,
            )
            kept = []
        finally:
            waiting.extendleft(reversed(kept))
        if put_off:
            self._locked_until = time.monotonic() + REST_SHARE * (time.monotonic() - began)
        put_off += self._busy
        if put_off:
            log.warning("settlements_locked", jobs=len(put_off), reason="somebody has locked their rows")
        self._locked += put_off
        left = set(map(_key, put_off))
        return [report for report in reports if _key(report) not in left]

    def _settle(self, reports: Sequence[Report], *, waits: bool) -> None:
        """Settle these reports in one statement; unless it waits, notes those whose jobs somebody has locked."""
        settlements = [report.settlement for report in reports if report.settlement is not None]
        if not settlements:
            return
        process = self._process
        settle, opened = (
            (ledger.settle, process.database.pinned())
            if waits
            else (ledger.settle_free, process.database.pinned_transaction())
        )
        try:
            with opened as tx:
                settled = settle(tx, settlements, hint_timeout=process.hint_timeout, burst=process.settings.burst)
        except UNWRITABLE as error:
            if _key(reports[0]) in self._refused:
                raise  # not even a failure can be written: that is a mistake of ours, and no job's
            raise Invalid("outcome", f"cannot be written: {type(error).__name__}") from error
        self._busy += [report for report in reports if report.job_id in settled.locked]
        process.publisher.publish(settled.hints)
        if settled.refused:
            self.refused += len(settled.refused)
            log.warning("settlements_refused", jobs=len(settled.refused), reason="their claims were lost")

    def _group_of(self, report: Report) -> Hashable:
        """Who holds a key keeps those parents of the same org only from their ends that have children."""
        job = self._held.find(report.job_id, report.token)
        return job and job.org_id, bool(report.settlement and report.settlement.children)

    def _refuse(self, report: Report, failure: Failure | DatabaseError) -> Report | None:
        """What to write instead of a settlement that cannot be; None where nothing can."""
        if not isinstance(failure, Failure):
            raise failure
        job = self._held.find(report.job_id, report.token)
        if job is None or report.settlement is None or _key(report) in self._refused:
            log.error("settlement_unwritable", job_id=str(report.job_id), reason=failure.reason)
            return None
        self._refused.add(_key(report))
        result = runner.unwritable(self._process, job, failure, report.settlement.started_at)
        return report._replace(settlement=result.settlement)


def _key(report: Report) -> tuple[UUID, UUID]:
    return report.job_id, report.token
