"""Send a job as a Celery task, by the queues that the fleet's workers read: for services that have a broker only."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from postroom_client import options as job_options
from postroom_client.options import Id, JobOptions

if TYPE_CHECKING:
    from celery import Celery
    from celery.result import AsyncResult
    from typing_extensions import Unpack


class MessageOptions(JobOptions, total=False):
    """What may be said of a job that is sent as a message, beside what may be said everywhere."""

    actor_type: str
    """`system`, `user` or `api_key`."""
    queue: str
    """Needed where the fleet has a prefix for its queues only: `staging:default`."""


def send(
    app: Celery,
    job_type: str,
    payload: Mapping[str, Any],
    *,
    org_id: Id,
    key: str,
    actor_id: str,
    **options: Unpack[MessageOptions],
) -> AsyncResult:
    """Send a job; a worker takes it into the ledger, once for each key. The result's id is the job's.

    A message is no transaction, and is lost with the broker's data until a worker has taken it. RabbitMQ may lose one
    before that, too, unless the app's `broker_transport_options` have `confirm_publish`. A refusal is the task's
    result: `get` raises Celery's `TaskError` with the field and the reason.
    """
    contract = contract_of(job_type, payload, org_id=org_id, key=key, actor_id=actor_id, **options)
    named = {"queue": options["queue"]} if "queue" in options else {}
    return app.send_task(job_type, kwargs=contract, task_id=contract["job_id"], serializer="json", **named)


def contract_of(
    job_type: str,
    payload: Mapping[str, Any],
    *,
    org_id: Id,
    key: str,
    actor_id: str,
    **options: Unpack[MessageOptions],
) -> dict[str, Any]:
    """The job contract: the keywords of the task. Raises TypeError and `Invalid` for options that are wrong."""
    job_id = str(uuid4())
    said = job_options.checked({name: value for name, value in options.items() if name not in {"queue", "actor_type"}})
    request_id = said.pop("request_id", job_id)
    contract = {
        "job_id": job_id,
        "job_type": job_type,
        "org_id": org_id,
        "actor_type": options.get("actor_type", "api_key"),
        "actor_id": actor_id,
        "request_id": request_id,
        "correlation_id": said.pop("correlation_id", request_id),
        "idempotency_key": key,
        "created_at": datetime.now(timezone.utc),
        "payload": payload,
        **({"scheduled_for": said.pop("run_at")} if "run_at" in said else {}),
        **said,
    }
    written: dict[str, Any] = json.loads(job_options.as_json(contract))
    return written
