"""Places orders from a Django of its own: one whose transaction fails, then one that commits; prints the latter's.

`python -m tests.examples.shop.django_program CONNINFO ORG_ID`
"""

import sys
from contextlib import suppress
from uuid import UUID

from django.db import transaction
from psycopg.conninfo import conninfo_to_dict

from shop.orders import NewOrder
from shop.ways import by_django


class Changed(Exception):
    """The buyer has changed their mind."""


def main(conninfo: str, org_id: UUID) -> None:
    given = conninfo_to_dict(conninfo)
    by_django.set_up(
        host=str(given["host"]), port=int(str(given["port"])), name=str(given["dbname"]), user=str(given["user"])
    )
    with suppress(Changed), transaction.atomic():
        by_django.place(org_id, NewOrder(buyer="Undecided by Django", total_cents=100))
        raise Changed
    sys.stdout.write(by_django.place(org_id, NewOrder(buyer="Django", total_cents=300)).model_dump_json())


if __name__ == "__main__":
    main(sys.argv[1], UUID(sys.argv[2]))
