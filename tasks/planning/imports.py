"""The imports family: files that say when people can (docs: files.md)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import NamedTuple
from uuid import UUID

from domain.jobs.failures import Invalid, Permanent
from domain.jobs.job import Done, JsonObject, Outcome
from domain.jobs.queues import Queue
from domain.jobs.retry import EXPORTS
from domain.orgs.privacy.redaction import redact_text
from domain.payloads.imports import AvailabilityPayload
from domain.planning.calendars.availability import CalendarOptions, FoundAvailability, compare
from domain.planning.calendars.availability_calendar import read_calendar
from domain.planning.calendars.availability_csv import read_table
from domain.planning.files.artifacts import ArtifactFacts, NewArtifact
from domain.planning.files.csv_columns import Column, ColumnType, write_lines
from domain.planning.files.imports import People, format_of, source_of
from engine.catalogue import job
from engine.context import JobContext
from storage.planning import imports, projects
from storage.planning.projects import MOST_AVAILABILITIES, Project
from storage.postgres.database import Transaction
from tasks.planning.files.artifact_files import keep_file, read_file, record_file, reference_to
from tasks.planning.files.projects import find_file_for, project_of

MOST_LISTED = 50
"""Faults in a job's output; the artifact has all that a file may have."""
LONGEST_FIRST = 300
"""Characters of the first fault in the failure's reason, which may name words of the file."""
FAULTS = (Column("row", ColumnType.WHOLE), Column("column"), Column("value"), Column("why"))


class ImportCase(NamedTuple):
    """What an import works on."""

    project: Project
    people: People
    source: str
    format: str


@job(queue=Queue.EXPORTS, retry=EXPORTS, deadline=timedelta(minutes=10))
def availability(ctx: JobContext, payload: AvailabilityPayload) -> Outcome:
    """Take people's times from a file, all or none: with any fault nothing is written, and the job fails."""
    found_file = find_file_for(ctx, payload.artifact_id, "payload.artifact_id", payload.project_id)
    kind = format_of(payload.format, found_file.media_type, found_file.name)
    with ctx.read() as tx:
        asked = _asked(tx, project_of(ctx, tx, payload.project_id), payload, found_file.name, kind)
    found = _read(ctx, asked, payload, read_file(ctx, found_file))
    ctx.check()
    entries = [replace(one, collaborator=one.collaborator or str(payload.collaborator_id)) for one in found.entries]
    with ctx.read() as tx:
        changes = compare(imports.stored(tx, asked.project.ref, asked.source, entries), entries)
        for one in imports.too_many(tx, asked.project.ref, Counter(one.collaborator for one in changes.new)):
            found.faults.add((0, "collaborator"), f"would have more than {MOST_AVAILABILITIES} times", value=one)
    counts: JsonObject = {"read": found.read, "ignored": dict(found.ignored), "floating": found.floating}
    about = {"source": asked.source, "format": asked.format, **counts}
    if found.faults:
        return _refused(ctx, found, about, payload)
    if payload.dry_run:
        would = {"new": len(changes.new), "changed": len(changes.changed), "unchanged": changes.unchanged}
        return Done({"result": "dry_run", **about, **would, "faults": []})

    def write(tx: Transaction) -> JsonObject:
        written = imports.write(tx, asked.project.ref, asked.source, entries)
        return {**written._asdict(), "unchanged": len(entries) - written.new - written.changed}

    return Done({"result": "imported", **about, "faults": []}, writes=write)


def _asked(tx: Transaction, project: Project, payload: AvailabilityPayload, name: str, kind: str) -> ImportCase:
    """What the import is about; raises `Gone` for a person of another project, and `Invalid`."""
    if payload.collaborator_id is not None:
        projects.collaborator(tx, project.ref, payload.collaborator_id)
    elif kind == "icalendar":
        raise Invalid("payload.collaborator_id", "is missing: a calendar does not say whose it is")
    people = projects.collaborators(tx, project.ref)
    named = People((one.collaborator_id, one.name) for one in people)
    return ImportCase(project, named, source_of(payload.source, name), kind)


def _read(ctx: JobContext, asked: ImportCase, payload: AvailabilityPayload, data: bytes) -> FoundAvailability:
    zone = payload.zone or asked.project.zone
    if asked.format == "csv":
        return read_table(
            data,
            zone=zone,
            encoding=payload.encoding,
            needs_collaborator=payload.collaborator_id is None,
            whose=asked.people.whose,
        )
    options = CalendarOptions(payload.free_events == "busy", payload.whole_days == "busy")
    return read_calendar(data, zone=zone, now=ctx.now(), options=options, encoding=payload.encoding)


def _refused(ctx: JobContext, found: FoundAvailability, about: JsonObject, payload: AvailabilityPayload) -> Outcome:
    """Nothing of the file is taken; an artifact has its faults as a table.

    A dry run has found out what was asked. Any other import has failed: its progress keeps what the output would say.
    """
    rows = [(*one.path, one.value, one.reason) for one in found.faults.listed]
    more = found.faults.more
    made = _keep_faults(ctx, [*rows, (0, "", "", f"{more} more faults")] if more else rows, payload.project_id)
    said = {
        "result": "refused",
        **about,
        "faults": [dict(zip(("row", "column", "value", "why"), one, strict=True)) for one in rows[:MOST_LISTED]],
        "left_out": max(0, len(rows) - MOST_LISTED) + more,
        **reference_to(made),
    }
    if payload.dry_run:
        return Done(said, writes=lambda tx: record_file(tx, ctx.org_id, made))
    with ctx.tx() as tx:
        record_file(tx, ctx.org_id, made)
    ctx.progress(said)
    row, column, _, why = rows[0]
    first = redact_text(f"row {row}{f', {column}' if column else ''}: {why}", LONGEST_FIRST)
    reason = f"nothing was taken; faults: {len(rows) + more}, the first in {first}; artifact {made.artifact_id}"
    raise Permanent(f"{reason} has all", code="imports.refused")


def _keep_faults(ctx: JobContext, rows: Sequence[Sequence[object]], project_id: UUID) -> NewArtifact:
    facts = ArtifactFacts(kind="import_faults", name="faults.csv", media_type="text/csv")
    return keep_file(ctx, facts, (line.encode() for line in write_lines(FAULTS, rows)), project_id=project_id)
