"""In Django's `transaction.atomic`. Django is set up by its settings alone: it needs no project, app or model here."""

from uuid import UUID

import django
from django.conf import settings
from django.db import connection, transaction

from shop.orders import ENQUEUE, PLACE, NewOrder, PlacedOrder, confirmation_of


def set_up(*, host: str, port: int, name: str, user: str) -> None:
    """Say where the database is, once per process."""
    facts = {"ENGINE": "django.db.backends.postgresql", "HOST": host, "PORT": port, "NAME": name, "USER": user}
    settings.configure(DATABASES={"default": facts}, USE_TZ=True)
    django.setup()


def place(org_id: UUID, asked: NewOrder) -> PlacedOrder:
    """Place the order with its job, or neither; inside an outer `atomic` that decides."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(PLACE, {"org_id": org_id, **asked.model_dump()})
        (order_id,) = cursor.fetchone()
        cursor.execute(ENQUEUE, confirmation_of(order_id, org_id))
        (job_id,) = cursor.fetchone()
    return PlacedOrder(order_id=order_id, job_id=str(job_id))
