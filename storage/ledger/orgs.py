"""Finding the org that an operator means."""

from uuid import UUID

from domain.jobs.failures import Gone, Invalid
from storage.postgres.database import Transaction


def find(tx: Transaction, text: str) -> UUID:
    """The org of that id or name; raises `Gone` when there is none, `Invalid` when several have it or it is empty."""
    if not text:
        raise Invalid("org", "must not be empty")
    rows = tx.raw("select id from orgs where id::text = %(text)s or name = %(text)s limit 2", {"text": text})
    if not rows:
        raise Gone(f"there is no org {text}")
    if len(rows) > 1:
        raise Invalid("org", f"several orgs are named {text}; give the id")
    return UUID(str(rows[0].id))


def find_named(tx: Transaction, text: str | None) -> UUID | None:
    """The org that an option names, or None without the option: an empty name names no org, and not all of them."""
    return None if text is None else find(tx, text)
