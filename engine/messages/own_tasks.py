"""Tasks that the fleet's own app is asked to send: each is enqueued where it is asked for, or refused there."""

import json
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from celery import Celery, uuid
from kombu import Queue as BrokerQueue

import celeryconfig
from domain.jobs.failures import Invalid
from domain.jobs.queues import PLAIN
from engine.broker.hints import Unreadable
from engine.enqueue import enqueue_jobs
from engine.messages.accepting import accepted
from engine.messages.documents import JSON
from engine.messages.foreign import RefusedMessage, read_foreign
from engine.runtime import runtime
from storage.jobs import results

ROUTES = ("queue", "exchange", "routing_key")
"""Options of Celery's that send a message elsewhere. A job's queue is its type's."""


class TaskMessage:
    """What a message would carry, as a message of kombu's is read."""

    content_type, content_encoding = JSON, "utf-8"

    def __init__(self, headers: dict[str, Any], body: object, properties: Mapping[str, Any]) -> None:
        """Take what Celery makes of a call; raises `Invalid` for arguments that are no JSON."""
        try:
            self.body = json.dumps(body)
        except (RecursionError, TypeError, ValueError) as error:
            raise Invalid("kwargs", f"are no JSON: {error}") from None
        self.headers, self.properties = headers, properties


def hand_over(app: Celery, name: str, *arguments: Any, task_id: str | None, **options: Any) -> UUID:  # noqa: ANN401 - as `send_task` takes them
    """Enqueue the job of the contract in a task's keyword arguments; returns the id of the job, or of the first one.

    Raises `Invalid` with the field of a contract that cannot become a job, or the option that a job does not have.
    """
    for option in ROUTES:
        _check_route(option, options.get(option))
    renamed = {"callbacks": options.pop("link", None), "errbacks": options.pop("link_error", None)}
    task = app.amqp.as_task_v2(task_id or uuid(), name, *arguments, **renamed, **options)
    headers = task.headers | (options.get("headers") or {})
    message = TaskMessage(headers, task.body, {"priority": options.get("priority")})
    try:
        received = accepted(read_foreign(message))
    except Unreadable as problem:
        raise Invalid(problem.field, problem.reason) from None
    if isinstance(received, RefusedMessage):
        raise Invalid(received.field, received.reason)
    job = received.new_job()
    if job is None:
        raise Invalid("kwargs", "are no job contract (docs/howto/hand-over-work.md); in Python, see engine.enqueue")
    with runtime().database.ledger() as tx:
        job_id = enqueue_jobs(tx, [job])[0].job_id
        if task_id not in {None, str(job_id)}:
            results.ask_for(tx, [(job_id, task_id)], is_sent=False)
    return job_id


def _check_route(option: str, given: object) -> None:
    name = given.name if isinstance(given, BrokerQueue) else given
    if name and celeryconfig.NAMES.queue(name) is None and PLAIN.queue(name) is None:
        raise Invalid(option, "is no queue of the fleet; leave it out, for the job's type has its queue")
