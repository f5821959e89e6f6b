"""`celery -A tasks audit`: `export` writes the audit log to files so that it may leave, and `exports` lists these."""

import time
from datetime import UTC, datetime
from pathlib import Path
from threading import Event

import click

from commands.answers import json_option, show_rows
from commands.export_files import WrittenFile, check_folder, write
from commands.operations import AREAS
from domain.jobs.contract import parse_time
from domain.jobs.failures import Conflict, Invalid, Transient
from engine.runtime import runtime
from storage.jobs.audit_log import counting, exports

LOOK_EVERY_S = 0.2
EXPORTED = ("file", "events", "sha256")
EXPORTS = ("after_id", "upto_id", "exported_at", "events", "newest_at", "deleted", "emptied_at")


audit: click.Group = AREAS.audit


@audit.command("export")
@click.option(
    "--to", "folder", required=True, type=click.Path(path_type=Path), help="The directory in which the files are made."
)
@click.option("--before", help="Only what happened before this date or RFC 3339 time, a date in UTC. [default: now]")
@click.option(
    "--wait",
    "wait_s",
    type=click.IntRange(0, 3600),
    default=60,
    show_default=True,
    help="Seconds to wait for transactions that may still write earlier events.",
)
@json_option
def export_events(folder: Path, before: str | None, wait_s: int, as_json: bool) -> None:  # noqa: FBT001 - a flag of the command line
    """Write the events that no file has yet into files of their own: JSON Lines, packed by gzip.

    Beside each file stands its manifest, with range, number of events and SHA-256. After a crash, run it again: each
    event gets into one file, whatever happened. What is in a file may be deleted (POSTROOM_AUDIT_RETENTION_S).
    """
    ended_before = _time(before)
    check_folder(folder)
    settled = _settled(wait_s)
    made = []
    while (one := _export_next(folder, ended_before, settled)) is not None:
        made.append(one)
        click.echo(f"{one.file}: {one.events} events", err=True)
    show_rows(made, EXPORTED, as_json=as_json)


@audit.command("exports")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="How many at most.")
@json_option
def list_exports(limit: int, as_json: bool) -> None:  # noqa: FBT001 - a flag of the command line
    """List the exports that were written, the newest first, and how many entries of each were deleted since."""
    with runtime().database.ledger() as tx:
        found = exports.listed(tx, limit=limit)
    show_rows(found, EXPORTS, as_json=as_json)


def _export_next(folder: Path, before: datetime, settled: int) -> WrittenFile | None:
    """Write the next file and record it; None when there is nothing more to write."""
    with runtime().database.ledger() as tx:
        wanted = exports.begin(tx, before=before, settled=settled)
    if wanted is None:
        return None
    with runtime().database.ledger() as tx:
        if not exports.hold(tx, wanted):
            raise Conflict("another export is under way")
        written = write(folder, wanted, exports.lines(tx, wanted))
        # After the file is on its disk: what is recorded may be deleted.
        exports.finish(tx, wanted, events=written.events, sha256=written.sha256)
    return written


def _settled(wait_s: int) -> int:
    """The newest entry's number before which nobody can write any more: an entry is numbered before its commit."""
    ends = time.monotonic() + wait_s
    with runtime().database.statements() as tx:
        mark = counting.mark(tx)
        while writers := mark.writers & counting.mark(tx).writers:
            if time.monotonic() > ends:
                raise Transient(f"{len(writers)} transactions that may write earlier events have not ended")
            Event().wait(LOOK_EVERY_S)
    return mark.entry


def _time(text: str | None) -> datetime:
    """The time that an operator means; raises `Invalid` for one that cannot be read or is to come."""
    now = runtime().clock()
    if text is None:
        return now
    is_date = len(text) == len("2026-01-31")
    found = parse_time(f"{text}T00:00:00+00:00" if is_date else text, "before").astimezone(UTC)
    if found > now:
        raise Invalid("before", "is still to come")
    return found
