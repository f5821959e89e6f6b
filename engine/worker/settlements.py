"""Writes what came of jobs, many in one statement; one that cannot be written keeps no other from its end."""

import time
from collections import deque
from collections.abc import Callable, Sequence
from uuid import UUID

import structlog

from domain.jobs.failures import Failure, Invalid
from domain.jobs.lifecycle import Settlement
from engine.runtime import Runtime
from engine.worker import runner
from engine.worker.capacity import HeldJobs
from engine.worker.execution import Report
from storage.ledger import ledger
from storage.postgres.execution import DatabaseError, StatementAborted, is_away

log = structlog.get_logger(__name__)

MOST_AT_ONCE = 1024
"""Settlements per statement, as many as claims."""

APART_S = 1.0
"""How long jobs of a batch that could not be settled are settled one by one; the rest waits for the next batch."""

WAITED_REST_S = 0.5
"""How long what somebody else has locked rests once a try has waited for a lock: a fifth of the time is spent so."""

UNWRITABLE = (ArithmeticError, LookupError, TypeError, ValueError, DatabaseError)
"""What is raised for a value that Python cannot write down for PostgreSQL, and for a row that PostgreSQL refuses."""


class Settlements:
    """The reports of one worker's pool that are not written yet."""

    def __init__(self, process: Runtime, held: HeldJobs) -> None:
        """`held` are the jobs that reports may come of."""
        self._process = process
        self._held = held
        self._reports: deque[Report] = deque()
        self._locked: list[Report] = []
        """Of jobs that somebody else has locked: tried again apart from all others, and without waiting."""
        self._locked_until = 0.0
        """When they are tried, by the monotonic clock."""
        self._given_up: set[tuple[UUID, UUID]] = set()
        """Of the reports that are being written: those that could not be, and are tried again later."""
        self._busy: set[tuple[UUID, UUID]] = set()
        """The same: those of jobs that somebody else has locked."""
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
        reports = [self._reports.popleft() for _ in range(min(len(self._reports), MOST_AT_ONCE))]
        try:
            written = self._write(reports, self._settle)
            reports = []
        finally:
            self._reports.extendleft(reversed(reports))
        if self._locked and time.monotonic() > self._locked_until:
            again, self._locked = self._locked[:MOST_AT_ONCE], self._locked[MOST_AT_ONCE:]
            try:
                written += self._write(again, self._settle_free)
                again = []
            finally:
                self._locked += again
        return written

    def _write(self, reports: Sequence[Report], settle: Callable[[Sequence[Settlement]], object]) -> list[Report]:
        """Settle these reports and return those that are written; what waits is kept where it is tried again."""
        self._given_up, self._busy = set(), set()
        settle([report.settlement for report in reports if report.settlement is not None])
        if not (self._given_up or self._busy):
            return list(reports)
        self._locked += [report for report in reports if (report.job_id, report.token) in self._busy]
        self._reports.extend(report for report in reports if (report.job_id, report.token) in self._given_up)
        return [report for report in reports if (report.job_id, report.token) not in self._given_up | self._busy]

    def _settle(self, settlements: Sequence[Settlement], *, last: bool = False, wait: bool = True) -> None:
        if not settlements:
            return
        process = self._process
        settle, opened = (
            (ledger.settle, process.database.pinned())
            if wait
            else (ledger.settle_free, process.database.pinned_transaction())
        )
        try:
            with opened as tx:
                settled = settle(tx, settlements, hint_timeout=process.hint_timeout, burst=process.settings.burst)
        except Failure as failure:
            if is_away(failure):
                raise
            self._settle_otherwise(settlements, failure, last=last, wait=wait)
            return
        except UNWRITABLE as error:
            if last:
                raise  # not even a failure can be written: that is a mistake of ours, and no job's
            problem = Invalid("outcome", f"cannot be written: {type(error).__name__}")
            self._settle_apart(settlements, problem, last=last)
            return
        self._note_busy([each for each in settlements if each.job_id in settled.locked])
        process.publisher.publish(settled.hints)
        if settled.refused:
            self.refused += len(settled.refused)
            log.warning("settlements_refused", jobs=len(settled.refused), reason="their claims were lost")

    def _settle_otherwise(self, settlements: Sequence[Settlement], failure: Failure, *, last: bool, wait: bool) -> None:
        """Settle what a failure has kept from being settled together."""
        has_children = any(settlement.children for settlement in settlements)
        if isinstance(failure, StatementAborted) and wait and (has_children or len(settlements) > 1):
            self._settle_free(settlements)
        elif isinstance(failure, StatementAborted) and has_children:
            self._note_busy(settlements)
            self._locked_until = time.monotonic() + WAITED_REST_S
        else:
            self._settle_apart(settlements, failure, last=last)

    def _settle_free(self, settlements: Sequence[Settlement]) -> None:
        """Settle what nobody has locked: one handler that holds its job's row keeps no other job from its end.

        Nothing tells whether somebody has just taken the unique key of a child. Children are enqueued org by org: who
        holds a key keeps the parents of the same org only from their ends.
        """
        groups: dict[UUID | None, list[Settlement]] = {}
        for settlement in settlements:
            job = self._held.find(settlement.job_id, settlement.token) if settlement.children else None
            groups.setdefault(job and job.org_id, []).append(settlement)
        for group in groups.values():
            self._settle(group, wait=False)
        if self._busy:
            log.warning("settlements_locked", jobs=len(self._busy), reason="somebody has locked their rows")

    def _note_busy(self, settlements: Sequence[Settlement]) -> None:
        self._busy.update((each.job_id, each.token) for each in settlements)

    def _postpone(self, settlements: Sequence[Settlement]) -> None:
        self._given_up.update((settlement.job_id, settlement.token) for settlement in settlements)

    def _settle_apart(self, settlements: Sequence[Settlement], failure: Failure, *, last: bool) -> None:
        """Settle each job by itself; the one that cannot be settled as it should be, by that failure."""
        if len(settlements) > 1:
            until = time.monotonic() + APART_S
            for place, settlement in enumerate(settlements):
                if time.monotonic() > until:
                    self._postpone(settlements[place:])
                    return
                self._settle([settlement])
            return
        refused = settlements[0]
        if isinstance(failure, StatementAborted):  # nothing is wrong with it, and it comes after all others next time
            log.warning("settlement_postponed", job_id=str(refused.job_id), reason=failure.reason)
            self._postpone(settlements)
            return
        job = self._held.find(refused.job_id, refused.token)
        if job is None or last:
            log.error("settlement_unwritable", job_id=str(refused.job_id), reason=failure.reason)
            return
        result = runner.unwritable(self._process, job, failure, refused.started_at)
        self._settle([result.settlement] if result.settlement else [], last=True)
