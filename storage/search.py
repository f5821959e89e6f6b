"""Finds what has an id, whatever it is an id of."""

from collections.abc import Sequence
from uuid import UUID

from storage.postgres.database import Transaction
from storage.postgres.execution import Row

MOST_OF_A_KIND = 20
MOST_SHOWN = 100


def search(tx: Transaction, text: str, org_id: UUID | None) -> Sequence[Row]:
    """What has that id, the newest first; keys that are unique within an org are looked for in the named one alone."""
    return tx.run("search", text=text, id=_as_id(text), org_id=org_id, most=MOST_OF_A_KIND, shown=MOST_SHOWN)


def _as_id(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
