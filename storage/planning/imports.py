"""What imports write of people's times: a source's event is one row, however often its file comes."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

from domain.jobs.failures import Conflict
from domain.planning.calendars.availability import AvailabilityEntry
from domain.planning.model import Availability, AvailabilityKind, Span
from storage.planning.projects import MOST_AVAILABILITIES, ProjectRef
from storage.postgres.database import Transaction


class ImportedRows(NamedTuple):
    """How many rows an import has added and changed; all others were so already."""

    new: int
    changed: int


def stored(
    tx: Transaction, ref: ProjectRef, source: str, entries: Sequence[AvailabilityEntry]
) -> Mapping[tuple[str, str], Availability]:
    """What earlier imports of a source have written of these events, by person and event."""
    rows = tx.run("find_imported", **ref._asdict(), source=source, **_keys(entries))
    return {
        (str(row.collaborator_id), row.external_uid): Availability(
            Span(row.starts_at, row.ends_at), AvailabilityKind(row.kind)
        )
        for row in rows
    }


def too_many(tx: Transaction, ref: ProjectRef, new: Counter[str]) -> Sequence[str]:
    """Those people, by their ids, of whom more than may be would be known with so many new rows each."""
    ids = sorted(map(UUID, new))
    counted = {
        str(row.collaborator_id): row.number
        for row in tx.run("count_availabilities", **ref._asdict(), collaborator_ids=ids)
    }
    return [one for one in sorted(new) if counted.get(one, 0) + new[one] > MOST_AVAILABILITIES]


def write(tx: Transaction, ref: ProjectRef, source: str, entries: Sequence[AvailabilityEntry]) -> ImportedRows:
    """Write all entries in one statement; raises `Conflict` where somebody has too many then."""
    rows = tx.run(
        "import_availabilities",
        **ref._asdict(),
        source=source,
        **_keys(entries),
        kinds=[one.availability.kind.value for one in entries],
        starts=[one.availability.span.starts_at for one in entries],
        ends=[one.availability.span.ends_at for one in entries],
    )
    full = too_many(tx, ref, Counter(dict.fromkeys((one.collaborator for one in entries), 0)))
    if full:
        raise Conflict(f"collaborator_id: {full[0]} would have more than {MOST_AVAILABILITIES} times")
    new = sum(row.is_new for row in rows)
    return ImportedRows(new, len(rows) - new)


def _keys(entries: Sequence[AvailabilityEntry]) -> Mapping[str, object]:
    return {
        "collaborator_ids": [UUID(one.collaborator) for one in entries],
        "external_uids": [one.external_id for one in entries],
    }
