"""In a transaction of psycopg's."""

from uuid import UUID

from psycopg import Connection

from shop.orders import ENQUEUE, PLACE, NewOrder, PlacedOrder, confirmation_of


def place(connection: Connection, org_id: UUID, asked: NewOrder) -> PlacedOrder:
    """Add the order and its job to the connection's transaction, which the caller commits or rolls back."""
    ((order_id,),) = connection.execute(PLACE, {"org_id": org_id, **asked.model_dump()}).fetchall()
    ((job_id,),) = connection.execute(ENQUEUE, confirmation_of(order_id, org_id)).fetchall()
    return PlacedOrder(order_id=order_id, job_id=str(job_id))
