"""Orders: what happens after one is placed."""

from datetime import timedelta
from uuid import UUID

from domain.jobs.failures import Gone
from domain.jobs.job import Done, JsonObject, Outcome
from domain.jobs.queues import Queue
from domain.jobs.uniqueness import while_active
from domain.payloads.payload import Payload
from engine.catalogue import job
from engine.context import JobContext
from shop.jobs.invoices import InvoicePayload
from storage.postgres.database import Transaction

FIND = "select buyer from shop.orders where id = %(order_id)s"
CONFIRM = """
update shop.orders set confirmed_at = coalesce(confirmed_at, now()) where id = %(order_id)s
returning confirmed_at::text as at
"""


class ConfirmPayload(Payload, job_type="orders.confirm", unique=while_active("order_id")):
    """Which order."""

    order_id: UUID


@job(queue=Queue.NOTIFICATIONS, deadline=timedelta(minutes=1))
def confirm(ctx: JobContext, payload: ConfirmPayload) -> Outcome:
    """Confirm an order, and have its invoice made: the order's row, the child and the success commit together."""
    asked = {"order_id": payload.order_id}
    with ctx.read() as tx:
        found = tx.raw(FIND, asked)
    if not found:
        raise Gone(f"there is no order {payload.order_id}")

    def write(tx: Transaction) -> JsonObject:
        (order,) = tx.raw(CONFIRM, asked)
        return {"confirmed_at": order.at}

    invoice = InvoicePayload(order_id=payload.order_id).job(org_id=ctx.org_id)
    return Done({"buyer": found[0].buyer}, children=(invoice,), writes=write)
