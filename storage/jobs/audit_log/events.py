"""What happened, looked up in the audit log by the request that caused it or by org."""

from collections.abc import Sequence
from uuid import UUID

from domain.jobs.audit.event_names import OTHER_EVENT_NAMES
from domain.jobs.failures import Invalid
from storage.postgres.database import TenantTransaction, Transaction
from storage.postgres.execution import Row

JOB_EVENTS = ("job.replayed", "job.deadlettered")
"""What is found by its name of all that happens to jobs; `audit_entries_named` has them."""
LAST = 2**63 - 1
"""No event has a greater number."""


def of_correlation(tx: Transaction, correlation_id: str, *, after: int | None = None, limit: int) -> Sequence[Row]:
    """All events of the jobs that one request caused, and what happened besides, in order, after an event's number."""
    root_id = _as_id(correlation_id)
    return tx.run(
        "list_events_of_correlation", correlation_id=correlation_id, root_id=root_id, after=after or 0, limit=limit
    )


def besides_moves(tx: Transaction, *, before: int | None = None, limit: int) -> Sequence[Row]:
    """What people did, and what happened besides the moves of jobs: the newest first, before an event's number.

    A tenant's transaction lists what happened in its org, the ledger's what happened in all.
    """
    is_of_org = isinstance(tx, TenantTransaction)
    return tx.run("list_other_events_of_org" if is_of_org else "list_other_events", before=before or LAST, limit=limit)


def named(tx: Transaction, org_id: UUID, event: str, *, before: int | None = None, limit: int) -> Sequence[Row]:
    """What happened under a name, ours or a source document's: the newest first, before an event's number.

    Raises `Invalid` for a move of jobs other than their death: of these there are too many to be looked for by name.
    """
    own = next((ours for ours, other in OTHER_EVENT_NAMES.items() if other == event), event)
    if own.startswith("job.") and own not in JOB_EVENTS:
        raise Invalid("event", f"is a move of jobs: list jobs by their state, or name one of {', '.join(JOB_EVENTS)}")
    return tx.run("list_named_events_of_org", org_id=org_id, event=own, before=before or LAST, limit=limit)


def of_subject(
    tx: Transaction, org_id: UUID, subject_id: UUID, *, before: int | None = None, limit: int
) -> Sequence[Row]:
    """What changed a thing, as far as there are details: the newest first, before an event's number."""
    return tx.run("list_events_of_subject", org_id=org_id, subject_id=subject_id, before=before or LAST, limit=limit)


def find(tx: Transaction, event_id: int, *, org_id: UUID | None = None) -> Row | None:
    """One of the events of `besides_moves`, of an org or of all."""
    if org_id is None:
        rows = tx.run("find_other_event", event_id=event_id)
    else:
        rows = tx.run("find_other_event_of_org", event_id=event_id, org_id=org_id)
    return rows[0] if rows else None


def _as_id(correlation_id: str) -> UUID | None:
    """The job whose own id the correlation is; None when a caller named it otherwise."""
    try:
        return UUID(correlation_id)
    except ValueError:
        return None
