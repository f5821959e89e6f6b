"""Details of events: what each changed, by the rules of a version; and which events lack them."""

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from psycopg.types.json import Jsonb

from domain.jobs.audit.details import RULE_VERSION, Details
from domain.jobs.job import ClaimedJob, JsonObject
from domain.orgs.privacy.redaction import redact
from storage.postgres.database import Transaction
from storage.postgres.execution import Row


class Lacking(NamedTuple):
    """An event without details by the present rules."""

    event_id: int
    data: JsonObject


class OrgWithChanges(NamedTuple):
    """An org with events that are enriched, and whether its newest one lacks details."""

    org_id: UUID
    is_lacking: bool


def lacking(tx: Transaction, org_id: UUID, *, rule_version: int = RULE_VERSION, limit: int) -> Sequence[Lacking]:
    """The org's next events without details by these rules, the earliest first."""
    rows = tx.run("list_lacking_details", org_id=org_id, rule_version=rule_version, limit=limit)
    return [Lacking(*row) for row in rows]


def add(tx: Transaction, job: ClaimedJob, event_id: int, found: Details, *, rule_version: int = RULE_VERSION) -> None:
    """Keep the details of an event of the job's org, unless they are kept already."""
    tx.run(
        "add_details",
        org_id=job.org_id,
        rule_version=rule_version,
        event_id=event_id,
        subject=found.subject,
        subject_id=found.subject_id,
        revision=found.revision,
        changes=Jsonb(redact(found.changes)),
        sentences=Jsonb(redact(found.sentences)),
        made_by=job.job_id,
    )


def orgs_with_changes(
    tx: Transaction, *, after: UUID, rule_version: int = RULE_VERSION, limit: int
) -> Sequence[OrgWithChanges]:
    """The next orgs with events that are enriched, by their ids, over all orgs."""
    rows = tx.run("list_orgs_lacking_details", after=after, rule_version=rule_version, limit=limit)
    return [OrgWithChanges(*row) for row in rows]


def newest(tx: Transaction, events: Sequence[tuple[UUID, int]]) -> dict[int, Row]:
    """The newest details of each of these events, by the event's number; an event is named with its org."""
    if not events:
        return {}
    org_ids, event_ids = (list(dict.fromkeys(column)) for column in zip(*events, strict=True))
    rows = tx.run("list_details_of_events", org_ids=org_ids, event_ids=event_ids)
    return {row.event_id: row for row in rows}


def of_event(tx: Transaction, org_id: UUID, event_id: int) -> Sequence[Row]:
    """All details of an event, those by the newest rules first."""
    return tx.run("list_details_of_event", org_id=org_id, event_id=event_id)
