"""Claims what hints name and demand allows, many jobs in one statement, and gives back claims whose answer was lost."""

import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID, uuid4

import structlog

from domain.jobs.failures import Failure
from domain.jobs.job import ClaimedJob
from domain.jobs.scheduling.backlog_demand import ClaimCursors
from domain.jobs.scheduling.fairness import AHEAD_S
from domain.jobs.scheduling.pace import UNSEEN_S, JobMix, Pace
from engine.broker.hints import HintMessage
from engine.runtime import Runtime
from engine.worker.capacity import SOON_S, Capacity
from engine.worker.inbox import Envelope, Inbox, TakenHints, add_demand
from storage.jobs import ledger, recovery
from storage.jobs.answers import ClaimResult
from storage.postgres.execution import DatabaseError, is_away, reason_of

log = structlog.get_logger(__name__)

MOST_AT_ONCE = 1024
"""Jobs per statement. 256 cost 10% more per job; 2,048 saved nothing and blocked the event loop for longer."""

APART_S = 1.0
"""How long jobs of a batch that could not be claimed are claimed one by one; what is left then is a batch again."""

REFUSALS = (Failure, DatabaseError, ArithmeticError, LookupError, TypeError, ValueError)
"""What a claim raises that PostgreSQL refuses, or whose answer cannot be read."""

DOUBT_CHECK_S = 1.0
"""How often the ledger is asked again for claims that may have been committed without an answer."""


class Claims:
    """The hints of one worker that are not claimed yet, and the claims that are in doubt."""

    def __init__(self, process: Runtime, monotonic: Callable[[], float] = time.monotonic) -> None:
        """Begin with nothing; `attach` comes first."""
        self._process = process
        self._monotonic = monotonic
        self._connection_errors: tuple[type[BaseException], ...] = ()
        self.inbox = Inbox()
        self._cursors = ClaimCursors()
        self._mixes: dict[str, JobMix] = {}
        """What was claimed from the backlogs of each queue."""
        self._doubts: list[tuple[UUID, float]] = []
        """Tokens of claims that were not answered, and until when they may still be committed."""
        self._doubted_at = -DOUBT_CHECK_S
        self.suspects: deque[UUID] = deque()
        """Suspects that were put off here: each may be claimed when this process holds nothing else."""

    def attach(self, connection_errors: tuple[type[BaseException], ...]) -> None:
        """Begin anew with this connection to the broker: it, or the relay, brings back what was not acknowledged."""
        self._connection_errors = connection_errors
        self.inbox = Inbox()

    @property
    def in_doubt(self) -> bool:
        """Whether a claim may have been made that nobody here knows of."""
        return bool(self._doubts)

    def receive(self, message: Any, hints: HintMessage) -> None:  # noqa: ANN401 - a kombu message
        """Note what a message speaks of."""
        self.inbox.receive(message, hints, self._monotonic())

    def expect(self, envelope: Envelope, pace: Pace) -> float:
        """How many seconds the next job of a message will take; demand is judged by what it brought before."""
        key = envelope.backlog
        if key is None:
            return pace.expects(envelope.task)
        mix = self._mixes.get(key.queue)
        return mix.expects(pace) if mix else UNSEEN_S

    def share_stale(self) -> None:
        """Leave to whoever has room what found none here for so long that the relay has sent demand again."""
        before = self._monotonic() - AHEAD_S
        self._share([each for each in self.inbox.envelopes if each.is_shareable and each.received_at < before])

    def _share(self, envelopes: Sequence[Envelope]) -> None:
        """Send named jobs back to the broker, one to a message; demand is forgotten, for the relay sends it again."""
        for envelope in envelopes:
            if self._process.publisher.publish(envelope.hints, bundle=1):
                self._acknowledge(self.inbox.drop(envelope))

    def claim_suspect(self) -> Sequence[ClaimedJob]:
        """Claim one of the suspects that were put off, and nothing else; raises `DatabaseUnavailable`.

        Only for a process that holds nothing: a claim begins a suspect, and if the process dies, the suspect ended it.
        """
        while self.suspects:
            job_id = self.suspects.popleft()
            try:
                claims = self._ask_ledger([job_id], [], alone=True)
            except (Failure, DatabaseError) as error:
                if is_away(error):
                    raise
                log.warning("hint_put_aside", hint=str(job_id), reason=reason_of(error))
                continue
            self._end_unclaimed(claims.refused)
            if claims.jobs:
                return claims.jobs
        return ()

    def claim(self, capacity: Capacity, pace: Pace) -> Sequence[ClaimedJob]:
        """Claim what there is room for; raises `DatabaseUnavailable`, and keeps the hints then.

        Messages are acknowledged when each of their hints is claimed, or is known to need no claim here. When
        PostgreSQL refuses the statement, its hints are claimed one by one, and the one refused again is put aside.
        """
        hints = self._take(capacity, pace)
        if not hints:
            return ()
        dealt_with = False
        try:
            ready = self._claim(hints)
            dealt_with = True
        except (Failure, DatabaseError) as error:
            if is_away(error):
                raise
            dealt_with = True
            log.warning("claims_made_apart", hints=len(hints), reason=reason_of(error))
            return self._claim_apart([single for taken in hints for single in taken.apart()])
        finally:
            if not dealt_with:
                self.inbox.put_back(hints)
        return ready

    def _claim_apart(self, hints: Sequence[TakenHints]) -> Sequence[ClaimedJob]:
        """Claim these one by one; a database that is away, or too slow, ends that, and the rest is put back."""
        ready: list[ClaimedJob] = []
        until = self._monotonic() + APART_S
        for place, hint in enumerate(hints):
            try:
                ready += self._claim([hint])
            except REFUSALS as error:
                if is_away(error):
                    self.inbox.put_back(hints[place:])
                    break
                # The relay publishes it again after the hint timeout.
                log.warning("hint_put_aside", hint=str(hint.named[0][0]), reason=reason_of(error))
                self._acknowledge(self.inbox.deal_with([hint]))
            if self._monotonic() > until:
                self.inbox.put_back(hints[place + 1 :])
                break
        return ready

    def _claim(self, hints: Sequence[TakenHints]) -> Sequence[ClaimedJob]:
        named = {what for taken in hints for what, _ in taken.named if isinstance(what, UUID)}
        claims = self._ask_ledger(list(named), hints)
        self._cursors.learn(claims.cursors, self._monotonic())
        self._learn_mixes([job for job in claims.jobs if job.job_id not in named] if named else claims.jobs)
        self._acknowledge(self.inbox.deal_with(hints))
        if claims.refused:
            self.suspects.extend(job_id for job_id, answer in claims.refused.items() if answer == "suspect")
            log.info("hints_ignored", jobs={str(job_id): reason for job_id, reason in claims.refused.items()})
            self._end_unclaimed(claims.refused)
        return claims.jobs

    def _acknowledge(self, messages: Iterable[Any]) -> None:
        for message in messages:
            message.ack_log_error(log, self._connection_errors)

    def _learn_mixes(self, jobs: Sequence[ClaimedJob]) -> None:
        """Note what came from backlogs."""
        for (queue, job_type), count in Counter((job.queue, job.job_type) for job in jobs).items():
            self._mixes.setdefault(queue, JobMix()).learn(Counter({job_type: count}))

    def _end_unclaimed(self, refused: Mapping[UUID, str]) -> None:
        """End expired and canceled jobs; where that fails they stay queued, and the next hint for them tries again."""
        job_ids = [job_id for job_id, answer in refused.items() if answer in ledger.OVER]
        try:
            with self._process.database.pinned() as tx:
                ledger.end_unclaimed(tx, job_ids)
        except (Failure, DatabaseError) as error:
            log.warning("unclaimed_not_ended", jobs=[str(job_id) for job_id in job_ids], reason=reason_of(error))

    def doubt(self, tokens: Iterable[UUID]) -> None:
        """Give back what may have been claimed by these tokens, and whose answer was lost."""
        until = self._monotonic() + self._process.settings.statement_timeout_s + DOUBT_CHECK_S
        for token in tokens:
            self._doubts.append((token, until))
            self._doubted_at = -DOUBT_CHECK_S

    def return_doubtful(self) -> None:
        """Give back what was claimed without an answer, each second again for as long as it may still be committed."""
        now, process = self._monotonic(), self._process
        if not self._doubts or now < self._doubted_at + DOUBT_CHECK_S:
            return
        with process.database.pinned() as tx:
            moved = recovery.return_unanswered(tx, [token for token, _ in self._doubts], process.lease.length)
        process.publisher.publish(moved.hints)
        self._doubts = [doubt for doubt in self._doubts if doubt[1] > now]
        self._doubted_at = now

    def _take(self, capacity: Capacity, pace: Pace) -> Sequence[TakenHints]:
        hints: list[TakenHints] = []
        room = MOST_AT_ONCE
        while self.inbox.hints and room:
            first = self.inbox.first
            each_s, wanted = self.expect(first, pace), min(room, first.left)
            fits = capacity.fitting(each_s, wanted)
            if fits:
                hints.append(self.inbox.take(fits))
                capacity = capacity.plus(fits, each_s)
                room -= fits
            if fits < wanted:
                if each_s >= SOON_S and first.is_shareable and first.backlog is None:
                    # None of them is claimed ahead: each would wait here for a slot while other workers have some.
                    self._share([first])
                break
        return hints

    def _ask_ledger(self, job_ids: Sequence[UUID], hints: Sequence[TakenHints], *, alone: bool = False) -> ClaimResult:
        token, process, answered = uuid4(), self._process, False
        try:
            with process.database.pinned() as tx:
                claims = ledger.claim(
                    tx,
                    job_ids,
                    process.worker.worker_id,
                    lease=process.lease.length,
                    demand=add_demand(hints),
                    cursors=self._cursors.cursors,
                    token=token,
                    alone=alone,
                )
            answered = True
        finally:
            if not answered:
                # It may have been committed although its answer was lost or cannot be read; nobody would run the jobs.
                self.doubt([token])
        return claims
