"""Over HTTP, for a service whose tables are in another database: after the commit, and again until it is answered."""

from uuid import UUID

import httpx2

from shop.orders import key_of


def confirm(client: httpx2.Client, order_id: UUID) -> str:
    """Ask for the confirmation of an order that is committed; returns the job's id, of the first request for the order.

    The client has the gateway's address and the header `Authorization: Bearer …` of a key of the role writer.
    """
    asked = {"job_type": "orders.confirm", "payload": {"order_id": str(order_id)}}
    answer = client.post("/v1/jobs", json=asked, headers={"Idempotency-Key": key_of(order_id)})
    answer.raise_for_status()
    return str(answer.json()["job_id"])
