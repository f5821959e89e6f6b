"""The dead-letter family: the task that raises the alert when a job has died."""

from domain.jobs.job import Cancel, Done, Outcome
from domain.jobs.queues import Queue
from domain.payloads.deadletter import QuarantinePayload
from engine.catalogue import job
from engine.context import JobContext
from storage.ledger import audit, dead_letters
from storage.postgres.database import Transaction


@job(queue=Queue.DEADLETTER, light=True, audits=("deadletter.raised",))
def quarantine(ctx: JobContext, payload: QuarantinePayload) -> Outcome:
    """Raise the alert for a dead job: an audit event and a log record that monitoring watches."""
    with ctx.tx() as tx:
        letter = dead_letters.of_job(tx, payload.job_id)
    if letter is None or letter.state != "open":
        return Cancel("the dead letter is closed already")
    facts = {"dead_letter_id": str(letter.letter_id), "job_type": letter.job_type, "reason": letter.reason}

    def write(tx: Transaction) -> None:
        audit.append(tx, ctx.job, "deadletter.raised", facts | {"plan": letter.plan})
        tx.after_commit(lambda: ctx.log.error("deadletter_raised", **facts))

    return Done(facts, writes=write)
