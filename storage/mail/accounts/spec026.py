"""Makes jobs of what an older system kept in `email_processing_jobs`, and drops its tables (docs: adopt-spec026.md).

For the owner of the database, in one transaction: all of it is done, or nothing.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID, uuid4

from psycopg.errors import DependentObjectsStillExist

from domain.jobs.failures import Invalid
from domain.jobs.job import SYSTEM_ORG, Origin
from storage.jobs.audit_log import deeds
from storage.postgres.database import Transaction

OLD_JOBS, OLD_DIGESTS = "email_processing_jobs", "email_digest_batches"
BATCH = 5_000
"""Rows that one statement makes jobs of: some 10 MB of the server's memory."""
MOST_NAMED = 20
"""Rows, or users, that a refusal names."""
STATES = ("pending", "processing", "complete", "failed")

TAKE = """
lock table public.email_processing_jobs in access exclusive mode;
create table if not exists public.email_processing_accounts (connection_id uuid primary key, account_id uuid not null);
lock table public.email_processing_accounts in access exclusive mode
"""
"""Keeps everybody out of the old table, and makes the one that says which mailbox a connection is, where there is none.

Not among the statements, none of which leaves anything in a session: only the owner runs this.
"""
MATCH = """
create temporary table adopted_connections on commit drop as
select c.connection_id, a.org_id, a.id as account_id
from (select distinct connection_id::text from public.email_processing_jobs) as c
left join public.email_processing_accounts m on m.connection_id::text = c.connection_id
left join public.accounts a on a.id::text = coalesce(m.account_id::text, lower(c.connection_id));
analyze adopted_connections
"""
"""The mailbox of each connection: the account that was named for it, or the one that has the connection's own id."""


@dataclass(frozen=True, slots=True)
class AdoptedTables:
    """What became of the old tables: those that were dropped, and how many jobs were made, by their old status."""

    dropped: tuple[str, ...]
    jobs: Mapping[str, int]


def waits(tx: Transaction) -> bool:
    """Whether one of the old tables is here."""
    found = tx.run("find_spec026_tables")[0]
    return bool(found.has_jobs or found.has_digests)


def adopt(tx: Transaction, by: Origin, *, batch: int = BATCH) -> AdoptedTables | None:
    """Make jobs of the old rows and drop the old tables; None where there are none of them.

    Raises `Invalid` with the rows and the reasons, with the users whose mailbox is not known, or for digests that would
    be lost, before anything is written; and with what refers to the old tables, when the rest is done.
    """
    if not waits(tx):
        return None
    found = tx.run("find_spec026_tables")[0]
    jobs: Counter[str] = Counter(dict.fromkeys(STATES, 0))
    if found.has_digests and tx.run("has_spec026_digests")[0].has_rows:
        raise Invalid(OLD_DIGESTS, "is not empty")
    if found.has_jobs:
        if found.missing:
            raise Invalid(OLD_JOBS, f"has no column {', '.join(found.missing)}")
        tx.raw(TAKE)
        tx.raw(MATCH)
        _refuse_strangers(tx)
        _refuse_faults(tx)
        jobs.update(_adopt_rows(tx, batch))
    _drop(tx)
    kept = ((OLD_JOBS, found.has_jobs), (OLD_DIGESTS, found.has_digests))
    dropped = tuple(name for name, was_here in kept if was_here)
    deeds.record(tx, "jobs.adopted", {"dropped": list(dropped), "jobs": dict(jobs)}, by=by, org_id=SYSTEM_ORG)
    return AdoptedTables(dropped, dict(jobs))


def adopt_if_possible(tx: Transaction, by: Origin) -> AdoptedTables | Invalid | None:
    """As `adopt`; a refusal is returned, and leaves everything as it was."""
    tx.raw("savepoint old_tables")
    try:
        return adopt(tx, by)
    except Invalid as refusal:
        tx.raw("rollback to savepoint old_tables")
        return refusal


def _drop(tx: Transaction) -> None:
    try:
        tx.run("drop_spec026_tables")
    except DependentObjectsStillExist as error:
        referring = "; ".join((error.diag.message_detail or "").splitlines())
        raise Invalid("old tables", f"are referred to, drop that first: {referring}") from None


def _refuse_strangers(tx: Transaction) -> None:
    strangers = tx.run("find_spec026_strangers", most=MOST_NAMED)
    if strangers:
        named = "; ".join(f"user {row.user_id} (connection {row.connection_id})" for row in strangers)
        raise Invalid(
            "connection_id",
            f"of {strangers[0].users} users is no account here: {named}. Connect their mailboxes, and name the account"
            " of each connection in the table email_processing_accounts",
        )


def _refuse_faults(tx: Transaction) -> None:
    faults = tx.run("find_spec026_faults", most=MOST_NAMED)
    if faults:
        raise Invalid(OLD_JOBS, "; ".join(f"row {row.id}: {row.fault}" for row in faults))


def _adopt_rows(tx: Transaction, batch: int) -> Counter[str]:
    worker_id, done = uuid4(), Counter[str]()
    after: UUID | None = None
    tx.run("add_silent_worker", worker_id=worker_id)
    while True:
        row = tx.run("adopt_spec026_jobs", after=after, batch=batch, worker_id=worker_id)[0]
        done.update({state: getattr(row, state) for state in STATES})
        if row.adopted < batch:
            return done
        after = row.last_id
