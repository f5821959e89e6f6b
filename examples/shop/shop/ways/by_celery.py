"""By Celery, for a service that has a Celery app and no way to the gateway: after the commit, too."""

from datetime import UTC, datetime
from uuid import UUID, uuid4

from celery import Celery

from shop.orders import key_of


def confirm(app: Celery, org_id: UUID, order_id: UUID) -> str:
    """Ask for the confirmation of an order that is committed; returns the id of the message, which may find a job.

    The app has the fleet's broker, and none of the fleet's code. The message waits for a worker in the broker.
    """
    job_id = str(uuid4())
    contract = {
        "job_id": job_id,
        "job_type": "orders.confirm",
        "org_id": str(org_id),
        "actor_type": "system",
        "actor_id": "shop",
        "request_id": job_id,
        "correlation_id": job_id,
        "idempotency_key": key_of(order_id),
        "created_at": datetime.now(UTC).isoformat(),
        "payload": {"order_id": str(order_id)},
    }
    app.send_task("orders.confirm", kwargs=contract, task_id=job_id)
    return job_id
