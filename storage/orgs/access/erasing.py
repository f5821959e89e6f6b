"""Erases a person, or an org: by the rules of the tables, some pages at a time (docs: erase-a-person.md).

For the ledger's role. What was begun stays under way until it is finished, whoever was cut off meanwhile.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from domain.jobs.failures import Invalid
from domain.orgs.privacy.erasure import Known, Mark, MarkKind, Search, pattern_of_ids
from domain.payloads.mail_address import address_key
from storage.postgres.arrays import array
from storage.postgres.database import Transaction
from storage.postgres.execution import Row

USER, ORG = "user", "org"
TURN = timedelta(seconds=2)
"""How long one transaction erases, about; what it changes is locked until its end."""
PAGES = 20
"""Pages of the table of jobs that one statement looks through: some hundred jobs."""
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
class OrgPerson:
    """Somebody of an org."""

    user_id: UUID
    org_id: UUID
    email: str


@dataclass(frozen=True, slots=True)
class PagesLeft:
    """The pages of a table that are left, from a row on."""

    table: str
    pages: int
    """Of the whole table, when it was begun."""
    first_row: str = "(0,0)"


@dataclass(frozen=True, slots=True)
class Erased:
    """What one transaction has erased of a table, and what is left to go through.

    `blocked` says why rows of a page were left: something refers to one, or has the key that it would get.
    """

    rows: int
    rest: PagesLeft | None = None
    blocked: str | None = None


def find(tx: Transaction, subject: str, named: str, org_id: UUID | None = None) -> Erasure | None:
    """The erasure of a person, by address or id, or of an org, by name or id: under way, else finished before."""
    key = Mark(MarkKind.ADDRESS if subject == USER else MarkKind.NAME, named).key
    rows = tx.run("find_erasure", subject=subject, key=key, org_id=org_id)
    if len(rows) > 1 and rows[0].org_id != rows[1].org_id:
        raise Invalid("org", f"must be named: erasures of two orgs are about {named}")
    return _erasure(rows[0]) if rows else None


def person(tx: Transaction, named: str, org_id: UUID | None) -> OrgPerson | None:
    """The person of that address or id; raises `Invalid` for two."""
    rows = tx.run("find_whom_to_erase", key=address_key(named), org_id=org_id)
    if len(rows) > 1:
        raise Invalid("org", f"must be named: people of two orgs have the address {named}")
    return OrgPerson(**rows[0]._asdict()) if rows else None


def removed_user(tx: Transaction, text: str, org_id: UUID) -> UUID | None:
    """The id, where the text is that of somebody who was a user of the org and is one no more."""
    rows = tx.run("find_removed_user", org_id=org_id, id=text.lower())
    return UUID(rows[0].user_id) if rows else None


def known(tx: Transaction, org_id: UUID) -> Sequence[Known]:
    """By what the people of an org are known."""
    return [(row.user_id, row.kind, row.text) for row in tx.run("list_marks_of_people", org_id=org_id)]


def begin(
    tx: Transaction, org_id: UUID, whom: OrgPerson | None, marks: Sequence[Mark], *, reason: str, by: str
) -> UUID | None:
    """Let nothing new about them in, close their mailboxes, and write down that it is under way; returns its id.

    None where it is under way already, for somebody else has begun the same.
    """
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
    return begun[0].erasure_id if begun else None


def look_for(tx: Transaction, erasure_id: UUID, marks: Sequence[Mark]) -> None:
    """Look for these marks from now on."""
    tx.run("name_marks", erasure_id=erasure_id, marks=_kept(marks))


def tables(tx: Transaction) -> Sequence[str]:
    """Every table with rows of orgs; what refers to a row comes before it."""
    return [row.table_name for row in tx.run("list_erasure_rules")]


def tables_without_rule(tx: Transaction) -> Sequence[str]:
    """Tables that have a fence and no erasure rule, such as a package's own."""
    return [row.name for row in tx.run("list_tables_without_rule")]


def whole(tx: Transaction, table: str) -> PagesLeft:
    """All pages that a table has now."""
    return PagesLeft(table, tx.run("count_pages", of_table=table)[0].pages)


def erase_rows(tx: Transaction, erasure_id: UUID, part: PagesLeft, search: Search, *, turn: timedelta = TURN) -> Erased:
    """Erase in a part of a table for as long as `turn`, one row at least.

    What refers to a row may be new, and go with the next pass.
    """
    (row,) = tx.run(
        "erase_rows",
        erasure_id=erasure_id,
        from_table=part.table,
        first_row=part.first_row,
        pages=part.pages,
        turn=turn,
        patterns=array(search.patterns),
        instead=array(search.instead),
        loose=search.loose,
        identity=search.identity,
    )
    rest = None if row.next_row is None else replace(part, first_row=row.next_row)
    return Erased(row.rows, rest, row.blocked and search.without(row.blocked))


def live_jobs(tx: Transaction, erasure_id: UUID, first_page: int, search: Search) -> Sequence[UUID]:
    """Jobs on `PAGES` of the table of jobs that have not ended, and are about whom is erased."""
    first, after = (f"({page},0)" for page in (first_page, first_page + PAGES))
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


def open_transactions(tx: Transaction) -> Mapping[str, str]:
    """Other clients' transactions that are open in this database: by the id of each, whose it is."""
    return {row.id: f"process {row.pid} of {row.role}" for row in tx.run("list_open_transactions")}


def count(tx: Transaction, erasure_id: UUID, *, rows: int, files_removed: int) -> None:
    """Write down how many more rows and files are erased."""
    tx.run("count_erased", erasure_id=erasure_id, rows=rows, files=files_removed)


def forget_statistics(tx: Transaction, erasure_id: UUID, table: str, search: Search) -> None:
    """Let PostgreSQL forget what it has kept of a table for its planner, where that names the person."""
    tx.run("forget_statistics", erasure_id=erasure_id, of_table=table, loose=search.loose)


def finish(tx: Transaction, erasure_id: UUID) -> Erasure | None:
    """Forget by what they were found; None while the person is still there, or where somebody else has finished."""
    done = tx.run("finish_erasure", erasure_id=erasure_id)
    return Erasure(**done[0]._asdict()) if done else None


def finished(tx: Transaction, erasure_id: UUID) -> Erasure | None:
    """An erasure that is finished."""
    done = tx.run("get_finished_erasure", erasure_id=erasure_id)
    return Erasure(**done[0]._asdict()) if done else None


def _kept(marks: Sequence[Mark]) -> Jsonb:
    return Jsonb([asdict(mark) | {"key": mark.key} for mark in marks])


def _erasure(row: Row) -> Erasure:
    facts: dict[str, Any] = row._asdict()
    marks = [Mark(MarkKind(one["kind"]), one["text"]) for one in facts.pop("marks") or ()]
    return Erasure(**facts, marks=marks)
