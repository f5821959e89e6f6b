"""Finds what has an id, whatever it is an id of."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from domain.jobs.monitoring.job_filter import JobFilter
from storage.jobs import job_views
from storage.postgres.database import Transaction

MOST_OF_A_KIND = 20
MOST_SHOWN = 100


def search(tx: Transaction, text: str, org_id: UUID | None) -> Sequence[Mapping[str, Any]]:
    """What has that id, the newest first; keys that are unique within an org are looked for in the named one alone."""
    rows = tx.run("search", text=text, id=_as_id(text), org_id=org_id, most=MOST_OF_A_KIND, shown=MOST_SHOWN)
    return [row._asdict() for row in rows]


def jobs_of_trace(tx: Transaction, trace_id: str, org_id: UUID | None) -> Sequence[Mapping[str, Any]]:
    """The jobs that were enqueued in a trace, among the newest: as far back as a page of the list of jobs looks."""
    found = job_views.listed(tx, JobFilter(org_id=org_id, trace_id=trace_id), limit=MOST_OF_A_KIND)
    return [
        {
            "kind": "job",
            "id": str(row.job_id),
            "org_id": row.org_id,
            "said": f"{row.job_type}, {row.state}, of the trace",
            "at": row.created_at,
            "ids": {},
        }
        for row in found.rows[:MOST_OF_A_KIND]
    ]


def _as_id(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
