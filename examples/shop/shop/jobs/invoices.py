"""Invoices of orders."""

from uuid import UUID

from domain.jobs.failures import Gone
from domain.jobs.job import Done, Outcome
from domain.jobs.queues import Queue
from domain.payloads.payload import Payload
from engine.catalogue import job
from engine.context import JobContext

MAKE = """
insert into shop.invoices (org_id, order_id, number, total_cents)
select org_id, id, 'S-' || upper(right(id::text, 12)), total_cents from shop.orders where id = %(order_id)s
on conflict do nothing
"""
FIND = "select number, total_cents from shop.invoices where order_id = %(order_id)s"


class InvoicePayload(Payload, job_type="invoices.make"):
    """Which order."""

    order_id: UUID


@job(queue=Queue.EXPORTS)
def make(ctx: JobContext, payload: InvoicePayload) -> Outcome:
    """Make the invoice of an order; a second attempt finds it made."""
    asked = {"order_id": payload.order_id}
    with ctx.tx() as tx:
        tx.raw(MAKE, asked)
        found = tx.raw(FIND, asked)
    if not found:
        raise Gone(f"there is no order {payload.order_id}")
    return Done({"number": found[0].number, "total_cents": found[0].total_cents})
