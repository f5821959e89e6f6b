"""Erases a person, or an org: by the rules of the tables, some pages at a time (docs: erase-a-person.md).

For the ledger's role. What was begun stays under way until it is finished, whoever was cut off meanwhile.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.errors import ForeignKeyViolation, UniqueViolation
from psycopg.types.json import Jsonb

from domain.jobs.failures import Invalid
from domain.payloads.mail_address import address_key
from domain.privacy.erasure import Known, Mark, MarkKind, Search, pattern_of_ids
from storage.exchange.artifacts import DeletedArtifact
from storage.postgres.database import Transaction
from storage.postgres.execution import Row

USER, ORG = "user", "org"
ROWS = 1_000
"""Rows that one transaction looks at, about: as many as stand on so many pages."""
BYTES = 16 * 1024 * 1024
"""Bytes that it reads, about: what a pattern goes through in a second or two."""
JOBS = "jobs"


@dataclass(frozen=True, slots=True)
class Erasure:
    """An erasure: whom it is of, as long as it is under way, and how far it has come."""

    erasure_id: UUID
    org_id: UUID
    subject: str
    begun_at: datetime
    finished_at: datetime | None
    rows: int = 0
    files: int = 0
    person_id: UUID | None = None
    marks: Sequence[Mark] = ()


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody of an org."""

    user_id: UUID
    org_id: UUID
    email: str


@dataclass(frozen=True, slots=True)
class Table:
    """A table with rows of orgs, and how many of its pages make a part."""

    name: str
    pages_of_part: int


@dataclass(frozen=True, slots=True)
class Blocked:
    """Why nothing of a part was erased: something refers to a row, or has the key that a row would get."""

    table: str
    why: str


def find(tx: Transaction, subject: str, named: str, org_id: UUID | None = None) -> Erasure | None:
    """The erasure of a person, by address or id, or of an org, by name or id: under way, else finished before."""
    key = Mark(MarkKind.ADDRESS if subject == USER else MarkKind.NAME, named).key
    rows = tx.run("find_erasure", subject=subject, key=key, org_id=org_id)
    if len(rows) > 1 and rows[0].org_id != rows[1].org_id:
        raise Invalid("org", f"must be named: erasures of two orgs are about {named}")
    return _erasure(rows[0]) if rows else None


def person(tx: Transaction, named: str, org_id: UUID | None) -> Person | None:
    """The person of that address or id; raises `Invalid` for two."""
    rows = tx.run("find_whom_to_erase", key=address_key(named), org_id=org_id)
    if len(rows) > 1:
        raise Invalid("org", f"must be named: people of two orgs have the address {named}")
    return Person(**rows[0]._asdict()) if rows else None


def removed_user(tx: Transaction, text: str, org_id: UUID) -> UUID | None:
    """The id, where the text is that of somebody who was a user of the org and is one no more."""
    rows = tx.run("find_removed_user", org_id=org_id, id=text.lower())
    return UUID(rows[0].user_id) if rows else None


def known(tx: Transaction, org_id: UUID) -> Sequence[Known]:
    """By what the people of an org are known."""
    return [(row.user_id, row.kind, row.text) for row in tx.run("list_marks_of_people", org_id=org_id)]


def begin(tx: Transaction, org_id: UUID, whom: Person | None, marks: Sequence[Mark], *, reason: str, by: str) -> UUID:
    """Let nothing new about them in, close their mailboxes, and write down that it is under way; returns its id."""
    user_id = None if whom is None else whom.user_id
    accounts = [row.id for row in tx.run("list_accounts_of_erased", org_id=org_id, user_id=user_id)]
    begun = tx.run(
        "begin_erasure",
        org_id=org_id,
        subject=ORG if whom is None else USER,
        user_id=user_id,
        email=None if whom is None else whom.email,
        marks=_kept(marks),
        accounts=accounts,
        addresses=[mark.key for mark in marks if mark.kind is MarkKind.ADDRESS],
        ids=pattern_of_ids(map(str, (*accounts, user_id or org_id))),
        reason=reason,
        by=by,
    )
    erasure_id: UUID = begun[0].erasure_id
    return erasure_id


def look_for(tx: Transaction, erasure_id: UUID, marks: Sequence[Mark]) -> None:
    """Look for these marks from now on."""
    tx.run("name_marks", erasure_id=erasure_id, marks=_kept(marks))


def tables(tx: Transaction) -> Sequence[Table]:
    """Every table with rows of orgs; what refers to a row stands before it."""
    rows = tx.run("list_erasure_rules")
    return [
        Table(row.table_name, max(1, min(int(ROWS / row.rows_of_page), BYTES // max(1, row.bytes_of_page))))
        for row in rows
    ]


def parts(tx: Transaction, table: Table) -> range:
    """The first page of each part of a table, as it is now."""
    (row,) = tx.run("count_pages", of_table=table.name)
    return range(0, row.pages, table.pages_of_part)


def erase_part(tx: Transaction, erasure_id: UUID, table: Table, first_page: int, search: Search) -> int | Blocked:
    """Erase what stands on a part of a table; returns how many rows changed, or why none did.

    What refers to a row may be new, and go with the next pass.
    """
    try:
        (row,) = tx.run(
            "erase_rows",
            erasure_id=erasure_id,
            from_table=table.name,
            first_page=first_page,
            pages=table.pages_of_part,
            patterns=list(search.patterns),
            instead=list(search.instead),
            loose=search.loose,
            identity=search.identity,
        )
    except (ForeignKeyViolation, UniqueViolation) as error:
        return Blocked(table.name, search.without(error.diag.message_detail or error.diag.message_primary or ""))
    rows: int = row.rows
    return rows


def live_jobs(tx: Transaction, erasure_id: UUID, table: Table, first_page: int, search: Search) -> Sequence[UUID]:
    """Jobs on a part of the table of jobs that have not ended, and are about whom is erased."""
    first, after = (f"({page},0)" for page in (first_page, first_page + table.pages_of_part))
    rows = tx.run(
        "find_live_jobs_of_erased",
        erasure_id=erasure_id,
        first=first,
        after=after,
        loose=search.loose,
        identity=search.identity,
    )
    return [row.id for row in rows]


def held(tx: Transaction, job_ids: Sequence[UUID]) -> int:
    """How many of these jobs a worker holds."""
    query = "select count(*) as jobs from jobs where id = any (%(ids)s::uuid[]) and state in ('claimed', 'running')"
    count: int = tx.raw(query, {"ids": list(job_ids)})[0].jobs
    return count


def older_claims(tx: Transaction, org_id: UUID, before: datetime) -> int:
    """How many jobs of the org a worker has held since before a time."""
    count: int = tx.run("count_older_claims", org_id=org_id, before=before)[0].jobs
    return count


def files(tx: Transaction, org_id: UUID, *, most: int) -> Sequence[DeletedArtifact]:
    """Deleted files of the org whose bytes are still in the store."""
    return [DeletedArtifact(*row) for row in tx.run("list_erased_files", org_id=org_id, most=most)]


def forget_statistics(tx: Transaction, erasure_id: UUID, table: Table, search: Search) -> None:
    """Let PostgreSQL forget what it has kept of a table for its planner, where that names the person."""
    tx.run("forget_statistics", erasure_id=erasure_id, of_table=table.name, loose=search.loose)


def finish(tx: Transaction, erasure_id: UUID, *, rows: int, files_removed: int) -> Erasure | None:
    """Forget by what they were found; None while the person is still there, or where somebody else has finished."""
    done = tx.run("finish_erasure", erasure_id=erasure_id, rows=rows, files=files_removed)
    return Erasure(**done[0]._asdict()) if done else None


def _kept(marks: Sequence[Mark]) -> Jsonb:
    return Jsonb([asdict(mark) | {"key": mark.key} for mark in marks])


def _erasure(row: Row) -> Erasure:
    facts: dict[str, Any] = row._asdict()
    marks = [Mark(MarkKind(one["kind"]), one["text"]) for one in facts.pop("marks") or ()]
    return Erasure(**facts, marks=marks)
