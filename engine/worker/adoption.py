"""Adopts jobs that foreign Celery clients send with `send_task`, and refuses messages that are no jobs at all."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import structlog

from domain.jobs.contract import JobContract
from domain.jobs.failures import Failure, Invalid
from domain.jobs.job import Hint
from engine.catalogue import Job
from engine.enqueue import enqueue_jobs
from engine.process.database_away import retry_while_away
from engine.process.refused_messages import record_refusal
from engine.process.runtime import Runtime
from storage.ledger import job_views, refusals
from storage.postgres.execution import DatabaseUnavailable

log = structlog.get_logger(__name__)


def adopt(runtime: Runtime, job_type: Job[Any], task_id: str, arguments: Mapping[str, Any]) -> str:
    """Adopt a foreign client's job: enqueue it in the ledger, whose own hint then brings it to the claim.

    The message carries the job contract; its idempotency key may show that the job is there already. A message without
    arguments is a hint in disguise: its task id is the job's. Returns `adopted` or `refused`; raises
    `DatabaseUnavailable`.
    """
    try:
        if arguments:
            _adopt(runtime, job_type, arguments)
        else:
            _check_known(runtime, UUID(task_id))
            runtime.publisher.publish([Hint(UUID(task_id), job_type.name, job_type.queue.value)])
    except ValueError:
        record_refusal(runtime, job_type.name, task_id, "id", "is no UUID")
    except Invalid as problem:
        record_refusal(runtime, job_type.name, task_id, problem.field, problem.reason)
    except DatabaseUnavailable:
        raise
    except Failure as problem:
        record_refusal(runtime, job_type.name, task_id, "envelope", problem.reason)
    else:
        return "adopted"
    return "refused"


def write_dead_letter(runtime: Runtime, task: str, task_id: str, body: object) -> None:
    """Make a message of an unknown type a dead letter, without a retry; refuse it when it is no job at all.

    A type that the fleet knows and this worker does not belongs to a newer worker, which gets the hint again later.
    """
    try:
        contract = JobContract.parse(_arguments(body))
        with runtime.database.ledger() as tx:
            written = refusals.write_dead_letter(tx, contract.new_job())
    except Invalid as problem:
        record_refusal(runtime, task, task_id, problem.field, problem.reason)
    except Failure as problem:
        record_refusal(runtime, task, task_id, "envelope", problem.reason)
    else:
        log.error("unknown_job_type", task=task, task_id=task_id, dead_letter=written)


def _arguments(body: object) -> object:
    return body[1] if isinstance(body, list | tuple) and len(body) > 1 else body


def _check_known(runtime: Runtime, job_id: UUID) -> None:
    """Refuse an empty message that names no job; nobody would run what a hint for it asks for."""

    def known() -> bool:
        with runtime.database.ledger() as tx:
            return job_views.exists(tx, job_id)

    if not retry_while_away(runtime, known):
        raise Invalid("envelope", "is empty, and no job has the message's id")


def _adopt(runtime: Runtime, job_type: Job[Any], arguments: Mapping[str, Any]) -> None:
    contract = JobContract.parse(dict(arguments))
    if contract.job_type != job_type.name and contract.job_type not in job_type.declared.aliases:
        raise Invalid("job_type", f"the message is addressed to {job_type.name}")
    job_type.read(contract.payload, contract.payload_version)

    def insert() -> None:
        with runtime.database.ledger() as tx:
            enqueue_jobs(tx, [contract.new_job()])

    retry_while_away(runtime, insert)
