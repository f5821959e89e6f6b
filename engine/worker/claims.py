"""Claims the jobs that hints speak of, many in one statement, and gives back claims whose answer was lost."""

import time
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any
from uuid import UUID, uuid4

import structlog

from domain.jobs.failures import Failure
from domain.jobs.job import ClaimedJob
from domain.scheduling.backlog_demand import ClaimCursors
from domain.scheduling.pace import Pace
from engine.catalogue import catalogue
from engine.process.hints import CLAIM_BACKLOG, read_message
from engine.process.runtime import Runtime
from engine.worker.capacity import Capacity
from engine.worker.inbox import Envelope, Inbox, ReadyJob, TakenHints, add_demand
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


class Claims:
    """The hints of one worker that are not claimed yet, and the claims that are in doubt."""

    def __init__(self, process: Runtime) -> None:
        """Begin with nothing; `attach` comes first."""
        self._process = process
        self._connection_errors: tuple[type[BaseException], ...] = ()
        self.inbox = Inbox()
        self._cursors = ClaimCursors()
        self._last_claimed_type = ""
        """Of what was claimed from a backlog: the next will probably be another of it."""
        self._doubts: list[tuple[UUID, float]] = []
        """Tokens of claims that were not answered, and until when they may still be committed."""
        self._doubted_at = -DOUBT_CHECK_S

    def attach(self, connection_errors: tuple[type[BaseException], ...]) -> None:
        """Begin anew with this connection to the broker: it, or the relay, brings back what was not acknowledged."""
        self._connection_errors = connection_errors
        self.inbox = Inbox()

    @property
    def in_doubt(self) -> bool:
        """Whether a claim may have been made that nobody here knows of."""
        return bool(self._doubts)

    def receive(self, message: Any, task: str) -> None:  # noqa: ANN401 - a kombu message
        """Note what a message speaks of; raises `Unreadable`."""
        self.inbox.receive(message, task, read_message(message.delivery_info["routing_key"], message.headers))

    def job_type_of(self, envelope: Envelope) -> str:
        """What a hint's job will be; a message of a backlog does not say."""
        return self._last_claimed_type if envelope.task == CLAIM_BACKLOG else envelope.task

    def claim(self, capacity: Capacity, pace: Pace) -> Sequence[ReadyJob]:
        """Claim what there is room for; raises `DatabaseUnavailable`, and keeps the hints then.

        Messages are acknowledged when each of their hints is claimed, or is known to need no claim here. When
        PostgreSQL refuses the statement, its hints are claimed one by one, and the one refused again is put aside.
        """
        hints = self._take(capacity, pace)
        if not hints:
            return ()
        starts = _starts(hints, capacity.free_slots)
        dealt_with = False
        try:
            ready = self._claim(hints, starts)
            dealt_with = True
        except (Failure, DatabaseError) as error:
            if is_away(error):
                raise
            dealt_with = True
            log.warning("claims_made_apart", hints=len(hints), reason=_reason(error))
            return self._claim_apart([single for taken in hints for single in taken.apart()], starts)
        finally:
            if not dealt_with:
                self.inbox.put_back(hints)
        return ready

    def _claim_apart(self, hints: Sequence[TakenHints], starts: Mapping[UUID, bool]) -> Sequence[ReadyJob]:
        """Claim these one by one; a database that is away, or too slow, ends that, and the rest is put back."""
        ready: list[ReadyJob] = []
        until = time.monotonic() + APART_S
        for place, hint in enumerate(hints):
            try:
                ready += self._claim([hint], {what: starts[what] for what, _ in hint.named if isinstance(what, UUID)})
            except REFUSALS as error:
                if is_away(error):
                    self.inbox.put_back(hints[place:])
                    break
                # The relay publishes it again after the hint timeout.
                log.warning("hint_put_aside", hint=str(hint.named[0][0]), reason=_reason(error))
                self._answer([hint])
            if time.monotonic() > until:
                self.inbox.put_back(hints[place + 1 :])
                break
        return ready

    def _claim(self, hints: Sequence[TakenHints], starts: Mapping[UUID, bool]) -> Sequence[ReadyJob]:
        claims = self._ask_ledger(hints, starts)
        self._cursors.learn(claims.cursors, time.monotonic())
        ready = self._with_messages(claims.jobs, hints if starts else ())
        self._answer(hints)
        if claims.refused:
            log.info("hints_ignored", jobs={str(job_id): reason for job_id, reason in claims.refused.items()})
            self._end_unclaimed(claims.unclaimed)
        return ready

    def _answer(self, hints: Sequence[TakenHints]) -> None:
        for message in self.inbox.deal_with(hints):
            message.ack_log_error(log, self._connection_errors)

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
        now, process = time.monotonic(), self._process
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
            job_type, wanted = self.job_type_of(first), min(room, first.left)
            each_s = pace.expects(job_type)
            fits = capacity.fitting(each_s, wanted, light=is_light(job_type))
            if fits:
                hints.append(self.inbox.take(fits))
                capacity = capacity.plus(fits, each_s)
                room -= fits
            if fits < wanted:
                break
        return hints

    def _ask_ledger(self, hints: Sequence[TakenHints], starts: Mapping[UUID, bool]) -> ledger.Claims:
        token, process, answered = uuid4(), self._process, False
        try:
            with process.database.pinned() as tx:
                claims = ledger.claim(
                    tx,
                    list(starts),
                    process.worker.worker_id,
                    lease=process.lease.length,
                    starts=list(starts.values()),
                    demand=add_demand(hints),
                    cursors=self._cursors.cursors,
                    token=token,
                )
            answered = True
        finally:
            if not answered:
                # It may have been committed although its answer was lost or cannot be read; nobody would run the jobs.
                self._doubts.append((token, time.monotonic() + process.settings.statement_timeout_s + DOUBT_CHECK_S))
                self._doubted_at = -DOUBT_CHECK_S
        return claims

    def _with_messages(self, jobs: Sequence[ClaimedJob], hints: Sequence[TakenHints]) -> list[ReadyJob]:
        """The jobs, each ordinary one with the message that its Celery request is made from.

        Without hints by id all came from backlogs, and no job needs a look.
        """
        envelopes = {what: taken.envelope for taken in hints for what, _ in taken.named}
        unnamed = [job for job in jobs if job.job_id not in envelopes] if envelopes else jobs
        if unnamed:
            self._last_claimed_type = unnamed[-1].job_type
        if not envelopes:
            return [(job, None) for job in jobs]
        return [(job, None if is_light(job.job_type) else _message(envelopes.get(job.job_id))) for job in jobs]


def _reason(error: Exception) -> str:
    """What is said of an error in the log; not PostgreSQL's words, for they may repeat a value."""
    return error.reason if isinstance(error, Failure) else type(error).__name__


def _message(envelope: Envelope | None) -> Any | None:  # noqa: ANN401 - a kombu message
    return envelope and envelope.message


def is_light(job_type: str) -> bool:
    """Whether jobs of this type travel in batches; not, when the type is unknown."""
    known = catalogue.find(job_type)
    return known is not None and known.light


def _is_ordinary(job_type: str) -> bool:
    known = catalogue.find(job_type)
    return known is not None and not known.light


def _starts(hints: Sequence[TakenHints], free_slots: int) -> Mapping[UUID, bool]:
    """The jobs that are named, and whether they start with their claim.

    An ordinary job that finds a free slot begins at once, and its claim says so; others begin in their turn.
    """
    places = accumulate((taken.size for taken in hints), initial=0)
    return {
        what: place < free_slots and _is_ordinary(taken.envelope.task)
        for first, taken in zip(places, hints, strict=False)
        for place, (what, _) in enumerate(taken.named, first)
        if isinstance(what, UUID)
    }
