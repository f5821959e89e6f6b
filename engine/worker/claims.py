"""Claims what hints name and demand allows, many jobs in one statement, and gives back claims whose answer was lost."""

import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple
from uuid import UUID, uuid4

import structlog

from domain.jobs.failures import Failure
from domain.jobs.job import ClaimedJob
from domain.scheduling.backlog_demand import BacklogKey, ClaimCursors
from domain.scheduling.fairness import AHEAD_S
from domain.scheduling.pace import UNSEEN_S, JobMix, Pace
from engine.broker.hints import HintMessage
from engine.catalogue import is_light, is_ordinary
from engine.runtime import Runtime
from engine.worker.capacity import Capacity
from engine.worker.inbox import Envelope, Inbox, TakenHints, add_demand
from storage.ledger import ledger, recovery
from storage.postgres.execution import DatabaseError, is_away

log = structlog.get_logger(__name__)

MOST_AT_ONCE = 1024
"""Jobs per statement. 256 cost 10% more per job; 2,048 saved nothing and blocked the event loop for longer."""

APART_S = 1.0
"""How long jobs of a batch that could not be claimed are claimed one by one; what is left then is a batch again."""

REFUSALS = (Failure, DatabaseError, ArithmeticError, LookupError, TypeError, ValueError)
"""What a claim raises that PostgreSQL refuses, or whose answer cannot be read."""

DOUBT_CHECK_S = 1.0
"""How often the ledger is asked again for claims that may have been committed without an answer."""

Expected = tuple[float, bool]
"""Of a job before it is claimed: the seconds that it will probably take, and whether it is light."""


class Starts(NamedTuple):
    """Which jobs of a claim start with it."""

    jobs: Mapping[UUID, bool]
    """Each job that a hint names."""
    demanded: Mapping[BacklogKey, int]
    """How many of those that demand brings."""


class Claims:
    """The hints of one worker that are not claimed yet, and the claims that are in doubt."""

    def __init__(self, process: Runtime, monotonic: Callable[[], float] = time.monotonic) -> None:
        """Begin with nothing; `attach` comes first."""
        self._process = process
        self._monotonic = monotonic
        self._connection_errors: tuple[type[BaseException], ...] = ()
        self.inbox = Inbox()
        self._cursors = ClaimCursors()
        self._mixes: dict[tuple[str, bool], JobMix] = {}
        """What was claimed from the backlogs of each queue, of ordinary jobs and of light ones."""
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

    def expect(self, envelope: Envelope, pace: Pace) -> Expected:
        """What the next job of a message will be like; demand does not say, and is judged by what it brought before."""
        key = envelope.backlog
        if key is None:
            return pace.expects(envelope.task), is_light(envelope.task)
        mix = self._mixes.get((key.queue, key.light))
        return (mix.expects(pace) if mix else UNSEEN_S), key.light

    def drop_stale_demand(self) -> None:
        """Forget demand that found no room here while the relay took it for lost and sent it again, to whoever has."""
        self._acknowledge(self.inbox.drop_demand(self._monotonic() - AHEAD_S))

    def claim_suspect(self) -> Sequence[ClaimedJob]:
        """Claim one of the suspects that were put off, and nothing else; raises `DatabaseUnavailable`.

        Only for a process that holds nothing: a claim begins a suspect, and if the process dies, the suspect ended it.
        """
        while self.suspects:
            job_id = self.suspects.popleft()
            try:
                claims = self._ask_ledger([], Starts({job_id: True}, {}), alone=True)
            except (Failure, DatabaseError) as error:
                if is_away(error):
                    raise
                log.warning("hint_put_aside", hint=str(job_id), reason=_reason(error))
                continue
            self._end_unclaimed(claims.unclaimed)
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
        starts = find_starts(hints, capacity.free_slots)
        dealt_with = False
        try:
            ready = self._claim(hints, starts)
            dealt_with = True
        except (Failure, DatabaseError) as error:
            if is_away(error):
                raise
            dealt_with = True
            log.warning("claims_made_apart", hints=len(hints), reason=_reason(error))
            return self._claim_apart([single for taken in hints for single in taken.apart()], starts.jobs)
        finally:
            if not dealt_with:
                self.inbox.put_back(hints)
        return ready

    def _claim_apart(self, hints: Sequence[TakenHints], starts: Mapping[UUID, bool]) -> Sequence[ClaimedJob]:
        """Claim these one by one; a database that is away, or too slow, ends that, and the rest is put back."""
        ready: list[ClaimedJob] = []
        until = self._monotonic() + APART_S
        for place, hint in enumerate(hints):
            try:
                named = {what: starts[what] for what, _ in hint.named if isinstance(what, UUID)}
                ready += self._claim([hint], Starts(named, {}))
            except REFUSALS as error:
                if is_away(error):
                    self.inbox.put_back(hints[place:])
                    break
                # The relay publishes it again after the hint timeout.
                log.warning("hint_put_aside", hint=str(hint.named[0][0]), reason=_reason(error))
                self._acknowledge(self.inbox.deal_with([hint]))
            if self._monotonic() > until:
                self.inbox.put_back(hints[place + 1 :])
                break
        return ready

    def _claim(self, hints: Sequence[TakenHints], starts: Starts) -> Sequence[ClaimedJob]:
        claims = self._ask_ledger(hints, starts)
        self._cursors.learn(claims.cursors, self._monotonic())
        jobs = [job for job in claims.jobs if job.job_id not in starts.jobs] if starts.jobs else claims.jobs
        self._learn_mix(jobs, {(key.queue, key.light) for key in add_demand(hints)})
        self._acknowledge(self.inbox.deal_with(hints))
        if claims.refused:
            self.suspects.extend(job_id for job_id, answer in claims.refused.items() if answer == "suspect")
            log.info("hints_ignored", jobs={str(job_id): reason for job_id, reason in claims.refused.items()})
            self._end_unclaimed(claims.unclaimed)
        return claims.jobs

    def _acknowledge(self, messages: Iterable[Any]) -> None:
        for message in messages:
            message.ack_log_error(log, self._connection_errors)

    def _learn_mix(self, jobs: Sequence[ClaimedJob], asked: AbstractSet[tuple[str, bool]]) -> None:
        """Note what came from backlogs. A job stands among those of the kind that its type had when it was enqueued."""
        for (queue, job_type), count in Counter((job.queue, job.job_type) for job in jobs).items():
            light = is_light(job_type)
            known = light if (queue, light) in asked else not light
            self._mixes.setdefault((queue, known), JobMix()).learn(Counter({job_type: count}))

    def _end_unclaimed(self, job_ids: Sequence[UUID]) -> None:
        """End expired and canceled jobs; where that fails they stay queued, and the next hint for them tries again."""
        if not job_ids:
            return
        try:
            with self._process.database.pinned() as tx:
                ledger.end_unclaimed(tx, job_ids)
        except (Failure, DatabaseError) as error:
            log.warning("unclaimed_not_ended", jobs=[str(job_id) for job_id in job_ids], reason=_reason(error))

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
            (each_s, light), wanted = self.expect(first, pace), min(room, first.left)
            fits = capacity.fitting(each_s, wanted, light=light)
            if fits:
                hints.append(self.inbox.take(fits))
                capacity = capacity.plus(fits, each_s)
                room -= fits
            if fits < wanted:
                break
        return hints

    def _ask_ledger(self, hints: Sequence[TakenHints], starts: Starts, *, alone: bool = False) -> ledger.ClaimResult:
        token, process, answered = uuid4(), self._process, False
        try:
            with process.database.pinned() as tx:
                claims = ledger.claim(
                    tx,
                    list(starts.jobs),
                    process.worker.worker_id,
                    lease=process.lease.length,
                    starts=list(starts.jobs.values()),
                    demand=add_demand(hints),
                    begins=starts.demanded,
                    cursors=self._cursors.cursors,
                    token=token,
                    alone=alone,
                )
            answered = True
        finally:
            if not answered:
                # It may have been committed although its answer was lost or cannot be read; nobody would run the jobs.
                self._doubts.append((token, self._monotonic() + process.settings.statement_timeout_s + DOUBT_CHECK_S))
                self._doubted_at = -DOUBT_CHECK_S
        return claims


def _reason(error: Exception) -> str:
    """What is said of an error in the log; not PostgreSQL's words, for they may repeat a value."""
    return error.reason if isinstance(error, Failure) else type(error).__name__


def find_starts(hints: Sequence[TakenHints], free_slots: int) -> Starts:
    """What starts with its claim: an ordinary job that finds a free slot. The others begin in their turn."""
    jobs: dict[UUID, bool] = {}
    demanded: dict[BacklogKey, int] = {}
    for taken in hints:
        ordinary = is_ordinary(taken.envelope.task)
        for what, count in taken.named:
            if isinstance(what, UUID):
                jobs[what] = ordinary and free_slots > 0
            elif not what.light and free_slots > 0:
                demanded[what] = demanded.get(what, 0) + min(count, free_slots)
            free_slots -= count
    return Starts(jobs, demanded)
