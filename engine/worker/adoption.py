"""Adopts the jobs that foreign Celery clients send into the ledger, and records the messages that are refused.

A worker's main process does so in the ledger loop's turn, many messages to a transaction. Celery makes no request of
such a message: its arguments reach neither Celery's events nor its listings, and no slot of the pool waits for it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import structlog

from domain.jobs.failures import Failure, Invalid
from domain.jobs.job import Hint
from engine.enqueue import enqueue_jobs
from engine.messages.accepting import accepted
from engine.messages.foreign import ForeignMessage, RefusedMessage
from engine.messages.refused_messages import content_of, keep
from engine.runtime import Runtime
from storage.jobs import refusals, results
from storage.postgres.apart import WaitingWork
from storage.postgres.database import Transaction
from storage.postgres.execution import DatabaseError, reason_of

log = structlog.get_logger(__name__)

MOST_AT_ONCE = 100
"""Messages per transaction: it holds the locks on their keys, and the event loop."""

MOST_UNWRITTEN = 100
"""Messages that a worker takes beside hints while it cannot write them; the others wait in the broker."""


@dataclass(frozen=True, slots=True)
class Adopted:
    """A message that has become a job, or has found one."""

    job_id: UUID
    task_id: str
    wants_result: bool


Received = ForeignMessage | RefusedMessage | Adopted


@dataclass(slots=True, eq=False)
class Unanswered:
    """A message that is not answered yet."""

    message: Any
    received: ForeignMessage | RefusedMessage


class Adoption(WaitingWork[Unanswered]):
    """What one worker has received from foreign clients and has not written yet."""

    def __init__(self, process: Runtime, monotonic: Callable[[], float]) -> None:
        """Begin with nothing; `attach` comes first."""
        super().__init__(monotonic)
        self._process = process
        self._is_sent = bool(process.settings.results_url.get_secret_value())
        self._connection_errors: tuple[type[BaseException], ...] = ()

    def attach(self, connection_errors: tuple[type[BaseException], ...]) -> None:
        """Answer on this connection from now on.

        What came on the connection before is kept: Redis has forgotten it, and what RabbitMQ brings again is the same
        job.
        """
        self._connection_errors = connection_errors

    def receive(self, message: Any, received: ForeignMessage | RefusedMessage) -> None:  # noqa: ANN401 - a kombu message
        """Note a message; it is written in the next turn."""
        checked = accepted(received) if isinstance(received, ForeignMessage) else received
        self.add([Unanswered(message, checked)])

    def write(self) -> None:
        """Write some of them, and answer; raises `DatabaseUnavailable`, and keeps what is not written then."""
        if locked := self.turn():
            log.warning("adoptions_put_off", messages=locked, reason="somebody has locked what they need")

    def do(self, items: Sequence[Unanswered]) -> None:
        """Adopt messages, and answer."""
        self._process.turn_age.progressed()
        self._answer(items, self._write(items))

    def refuse(self, item: Unanswered, error: Failure | DatabaseError) -> Unanswered | None:
        """The message, to be refused as PostgreSQL refuses it; None where its refusal cannot be recorded either."""
        if isinstance(item.received, RefusedMessage):
            log.warning("refusal_not_recorded", field=item.received.field, error=type(error).__name__)
            self._answer([item], [False])
            return None
        field = error.field if isinstance(error, Invalid) else "envelope"
        item.received = item.received.refused(field, reason_of(error))
        return item

    def org_of(self, item: Unanswered) -> UUID | None:
        """The org that a message names."""
        received = item.received
        return received.contract.org_id if isinstance(received, ForeignMessage) and received.contract else None

    def share_of(self, _item: Unanswered) -> float:
        """All alike."""
        return 1 / MOST_AT_ONCE

    def _answer(self, batch: Sequence[Unanswered], adopted: Sequence[bool]) -> None:
        for one, is_adopted in zip(batch, adopted, strict=True):
            answer = one.message.ack_log_error if is_adopted else one.message.reject_log_error
            answer(log, self._connection_errors)

    def _write(self, batch: Sequence[Unanswered]) -> Sequence[bool]:
        """Write messages in one transaction; returns which were adopted, the others were refused."""
        with self._process.database.ledger() as tx:
            tx.wait_briefly()
            written = self._ask_for_results(
                tx, self._take_hints(tx, self._enqueue(tx, [one.received for one in batch]))
            )
            self._refuse(tx, batch, written)
        return [isinstance(one, Adopted) for one in written]

    def _enqueue(self, tx: Transaction, received: Sequence[Received]) -> Sequence[Received]:
        """Insert the jobs of messages that carry one. A job of a type that nobody knows is a dead letter at once."""
        jobs = [
            (index, one, job)
            for index, one in enumerate(received)
            if isinstance(one, ForeignMessage) and (job := one.new_job()) is not None
        ]
        written = list(received)
        unknown = refusals.unknown_types(tx, {job.job_type for _, _, job in jobs})
        known = [entry for entry in jobs if entry[2].job_type not in unknown]
        for (index, one, _), answer in zip(known, enqueue_jobs(tx, [job for _, _, job in known]), strict=True):
            written[index] = Adopted(answer.job_id, one.task_id, one.wants_result)
        for index, one, job in jobs:
            if job.job_type in unknown:
                log.error("unknown_job_type", task=one.task, task_id=one.task_id)
                written[index] = Adopted(refusals.write_dead_letter(tx, job), one.task_id, one.wants_result)
        return written

    def _take_hints(self, tx: Transaction, received: Sequence[Received]) -> Sequence[Received]:
        """Publish hints for the jobs that messages without arguments name; one that there is not cannot be run."""
        named = {UUID(one.task_id): one for one in received if isinstance(one, ForeignMessage)}
        found = results.find_hints(tx, list(named))
        tx.after_commit(lambda: self._process.publisher.publish(list(found.values())))
        return [self._named(one, found) if isinstance(one, ForeignMessage) else one for one in received]

    def _named(self, received: ForeignMessage, found: Mapping[UUID, Hint]) -> Adopted | RefusedMessage:
        job_id = UUID(received.task_id)
        if job_id in found:
            return Adopted(job_id, received.task_id, received.wants_result)
        return received.refused("envelope", "is empty, and no job has the message's id")

    def _ask_for_results(self, tx: Transaction, received: Sequence[Received]) -> Sequence[Received]:
        """Note who waits for which job. A job that was found by its key may be past its retention."""
        asked = [(one.job_id, one.task_id) for one in received if isinstance(one, Adopted) and one.wants_result]
        # The client's own id finds the job already, unless the result is to be sent.
        asked = [(job_id, task_id) for job_id, task_id in asked if self._is_sent or task_id != str(job_id)]
        kept = results.ask_for(tx, asked, is_sent=self._is_sent)
        gone = [
            (task_id, "idempotency_key", "its job has ended and is not kept any more")
            for job_id, task_id in asked
            if job_id not in kept
        ]
        results.refuse(tx, gone, is_sent=self._is_sent)
        return received

    def _refuse(self, tx: Transaction, batch: Sequence[Unanswered], written: Sequence[Received]) -> None:
        refused = [
            (one, item.message) for one, item in zip(written, batch, strict=True) if isinstance(one, RefusedMessage)
        ]
        for one, message in refused:
            keep(self._process, tx, one, content_of(message))
        answered = [(one.task_id, one.field, one.reason) for one, _ in refused if one.wants_result]
        results.refuse(tx, answered, is_sent=self._is_sent)
