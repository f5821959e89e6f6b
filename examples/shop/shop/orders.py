"""An order as the service takes it, and the two statements by which it is placed, in any driver's transaction."""

from uuid import UUID

from pydantic import BaseModel, Field

PLACE = """
insert into shop.orders (org_id, buyer, total_cents) values (%(org_id)s, %(buyer)s, %(total_cents)s) returning id
"""
ENQUEUE = """
select postroom.enqueue(
  job_type => 'orders.confirm', org_id => %(org_id)s, payload => jsonb_build_object('order_id', %(order_id)s::uuid),
  idempotency_key => %(key)s, actor_type => 'system', actor_id => 'shop')
"""


class NewOrder(BaseModel):
    """What a buyer asks for."""

    buyer: str = Field(min_length=1, max_length=200)
    total_cents: int = Field(gt=0, le=100_000_000)


class PlacedOrder(BaseModel):
    """An order that is placed once its transaction commits, and the job that confirms it."""

    order_id: UUID
    job_id: str


def confirmation_of(order_id: UUID, org_id: UUID) -> dict[str, object]:
    """What `ENQUEUE` is given for an order."""
    return {"org_id": org_id, "order_id": order_id, "key": key_of(order_id)}


def key_of(order_id: UUID) -> str:
    """The idempotency key of an order's confirmation: whoever asks twice, by whatever way, gets one job."""
    return f"confirm-{order_id}"
