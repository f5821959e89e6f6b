"""A job's result as Celery's result backends keep one: the same words in the ledger's backend and in Redis."""

from typing import Any

from celery import states

from domain.jobs.job import State
from domain.jobs.results import JobResult

Meta = dict[str, Any]
"""What Celery calls the meta of a task: status, result, and when it was done."""

STATUS = {
    State.QUEUED: states.PENDING,
    State.CLAIMED: states.PENDING,
    State.RUNNING: states.STARTED,
    State.SUCCEEDED: states.SUCCESS,
    State.FAILED: states.FAILURE,
    State.DEAD: states.FAILURE,
    State.CANCELED: states.REVOKED,
}
"""Celery's word for each state of a job that has not been tried before; one that has is RETRY while it waits."""

EXCEPTIONS = "celery.exceptions"
"""A client that has nothing but Celery finds the exceptions of a result there, and can catch them."""


def status_of(result: JobResult | None) -> str:
    """Celery's state of a job; PENDING for one that nobody knows, as with Celery's own backends."""
    if result is None:
        return str(states.PENDING)
    status = STATUS[result.state] if result.state else states.FAILURE
    return str(states.RETRY if status == states.PENDING and result.attempt else status)


def meta_of(task_id: str, result: JobResult | None) -> Meta:
    """The result as JSON: the output of a success, and else an exception as Celery writes one."""
    status = status_of(result)
    value: object = None
    if result is not None:
        match status:
            case states.SUCCESS:
                value = result.told_output
            case states.FAILURE:
                value = _exception("TaskError", *result.told_error)
            case states.REVOKED:
                value = _exception("TaskRevokedError", result.cancel_reason or "canceled")
    done_at = result.finished_at if result else None
    return {
        "task_id": task_id,
        "status": status,
        "result": value,
        "traceback": None,
        "children": [],
        "date_done": done_at.isoformat() if done_at else None,
    }


def _exception(kind: str, *arguments: str) -> dict[str, object]:
    return {"exc_type": kind, "exc_message": list(arguments), "exc_module": EXCEPTIONS}
