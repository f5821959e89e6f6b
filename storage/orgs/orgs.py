"""Orgs: made, changed, listed, and found by what an operator means."""

from collections.abc import Sequence
from uuid import UUID

from psycopg.types.json import Jsonb

from domain.jobs.contract import check_text
from domain.jobs.failures import Conflict, Gone, Invalid
from domain.jobs.job import SYSTEM_ORG, JsonObject
from storage.postgres.database import Transaction
from storage.postgres.execution import Row

LONGEST_NAME = 200


def add(tx: Transaction, name: str, *, settings: JsonObject, weight: int) -> Row:
    """Make an org; raises `Conflict` where one has the name or the id that the name is. For the ledger role."""
    lock_name(tx, name)
    try:
        taken = find(tx, name)
    except Gone:
        return tx.run("add_org", name=name, settings=Jsonb(settings), weight=weight)[0]
    raise Conflict(f"name: org {taken} has it", code="org.exists")


def lock_name(tx: Transaction, name: str) -> None:
    """Let nobody else make an org of that name until the transaction ends: names are not unique."""
    check_text("org", name, LONGEST_NAME)
    tx.raw("select pg_advisory_xact_lock(hashtextextended('postroom org: ' || %(name)s, 0))", {"name": name})


def get(tx: Transaction, org_id: UUID) -> Row:
    """An org; raises `Gone` when there is none."""
    return tx.one("read_org", f"there is no org {org_id}", org_id=org_id)


def change(tx: Transaction, org_id: UUID, *, settings: JsonObject, weight: int | None) -> Row:
    """Set fields of an org's settings, a null takes one away, and its weight; raises `Gone`. For the ledger role."""
    if org_id == SYSTEM_ORG:
        raise Invalid("org", "must not be the system org: its settings are the installation's")
    return tx.one("change_org", f"there is no org {org_id}", org_id=org_id, settings=Jsonb(settings), weight=weight)


def find(tx: Transaction, text: str) -> UUID:
    """The org of that id or name; raises `Gone` when there is none, `Invalid` when several have it or it is empty."""
    if not text:
        raise Invalid("org", "must not be empty")
    rows = tx.raw("select id from orgs where id::text = %(text)s or name = %(text)s limit 2", {"text": text})
    if not rows:
        left = tx.raw("select cell from org_moves where org_id::text = %(text)s and state = 'left'", {"text": text})
        raise Gone(f"the org {text} has moved to the cell {left[0].cell}" if left else f"there is no org {text}")
    if len(rows) > 1:
        raise Invalid("org", f"several orgs are named {text}; give the id")
    return UUID(str(rows[0].id))


def find_named(tx: Transaction, text: str | None) -> UUID | None:
    """The org that an option names, or None without the option: an empty name names no org, and not all of them."""
    return None if text is None else find(tx, text)


def named(tx: Transaction, org_ids: Sequence[UUID] | None, *, limit: int) -> Sequence[Row]:
    """Ids and names to choose from, of all orgs or of these; at most so many. For the ledger role."""
    return tx.run("list_named_orgs", org_ids=None if org_ids is None else list(org_ids), limit=limit)
