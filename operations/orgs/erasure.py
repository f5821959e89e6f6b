"""Erasure: a person, or an org, is taken out of every table, and the fact stays (docs: erase-a-person.md).

A deed takes as long as the org is large. It goes on where another one was cut off, and ends where one has ended.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from itertools import product
from threading import Event
from typing import Annotated, ClassVar, Concatenate, ParamSpec, TypeVar
from uuid import UUID, uuid4

from pydantic import Field

from domain.jobs.failures import Conflict, Gone, Invalid, Transient
from domain.jobs.job import SYSTEM_ORG, JsonObject
from domain.orgs.access.operators import OperatorRole
from domain.orgs.privacy.erasure import Mark, MarkKind, Search, addresses_of_others, marks_of, named, search_for
from domain.orgs.privacy.personal_data import without_addresses
from domain.payloads.mail_address import address_key, check_address
from operations.call import Call
from operations.jobs import cancellations
from operations.jobs.cancellations import CancellationResult
from operations.operation import WORDS, OperatorsOnly, Option, Record
from operations.orgs.orgs import ORGS
from operations.orgs.users import USERS
from storage.jobs import gates, ledger, recovery
from storage.jobs.gates import Gate
from storage.orgs import orgs
from storage.orgs.access import erasing
from storage.orgs.access.erasing import Erasure, OrgPerson, PagesLeft
from storage.planning import artifacts
from storage.postgres.bounded import AnswerOverdue
from storage.postgres.database import Transaction
from storage.postgres.execution import DatabaseUnavailable, RowLocked, is_away

OPERATORS = OperatorsOnly("it cannot be undone, and takes as long as the org is large", OperatorRole.ADMIN)
CANCELED = "whom it is about is erased"
GATE_ACTOR = "erasure"
FILES = 500
"""Whose bytes are removed by one request."""
MOST_PASSES = 10
"""Through all tables: the second finds what was written during the first."""
WAIT_S = 60.0
"""For rows that somebody has locked, and for jobs and transactions that began before."""
PAUSE_S = 0.2
LONGEST_PATTERN = 60_000
"""Letters: a second or two until PostgreSQL has read it."""
MOST_OF_PATTERN = 120_000
"""Letters: PostgreSQL refuses longer ones as too complex, or reads for minutes."""
GOES_ON = "ask for the erasure again, and it goes on"
NEVER = Event()

EraseReason = Annotated[
    str, Field(pattern=WORDS, max_length=1000, description="Why; kept without the name and without addresses.")
]
Names = Annotated[
    list[str] | None,
    Field(max_length=20, description="A name to take out of all texts of the org, too; may be given several times."),
    Option("--name"),
]
P = ParamSpec("P")
T = TypeVar("T")


class ErasureView(Record):
    """An erasure: that it was done, and not of whom."""

    columns: ClassVar = ("erasure_id", "org_id", "subject", "begun_at", "finished_at", "rows", "files")
    erasure_id: UUID
    org_id: UUID
    subject: str = Field(description="`user` or `org`.")
    begun_at: datetime
    finished_at: datetime | None
    rows: int = Field(description="How many rows went or changed.")
    files: int = Field(description="Files whose bytes were removed from the store.")


@USERS.deed("erase", OPERATORS, org="optional", events=("user.erasure_begun", "user.erased"))
def erase_user(
    call: Call,
    user: Annotated[
        str,
        Field(
            pattern=WORDS, max_length=320, description="Their address or id; with an org, of somebody who is no user."
        ),
    ],
    *,
    reason: EraseReason,
    names: Names = None,
) -> ErasureView:
    """Take a person out of every table of their org, with their mailboxes and files; the fact stays.

    Who is no user, such as a correspondent or somebody who was removed, is named with the org. Cut off, it goes on when
    it is called again; done before, it says so.
    """
    given = named(names or ())
    with call.database.ledger() as tx:
        _check_rules(tx)
        known = erasing.find(tx, erasing.USER, user, call.org_id)
        is_done = known is not None and known.finished_at is not None
        whom = erasing.person(tx, user, call.org_id) if known is None or is_done else None
        # Of an address there may be more since it was erased.
        if whom is None and call.org_id is not None and (known is None or (is_done and "@" in user)):
            whom, mark = _no_user(tx, user, call.org_id)
            given = [mark, *given]
    if known is not None and is_done and whom is None:
        return ErasureView.model_validate(known)
    with call.writing() as tx:
        if whom is not None:
            begun = _begun(call, tx, whom.org_id, whom, given, reason)
        elif known is not None:
            begun = _gone_on(call, tx, known, [*{*known.marks, *given}], reason)
            erasing.look_for(tx, known.erasure_id, begun.marks)
        else:
            raise Gone(f"user: nobody has the address or id {user}; who is no user is named with the org")
        call.audit(tx, begun.org_id, begun.facts(), event="user.erasure_begun")
    return _erase(begun, "user.erased")


@ORGS.deed("erase", OPERATORS, events=("org.erasure_begun", "org.erased"))
def erase_org(
    call: Call,
    org: Annotated[str, Field(pattern=WORDS, max_length=200, description="The org's id or name.")],
    *,
    reason: EraseReason,
) -> ErasureView:
    """Take an org out of every table, with its people, mailboxes and files; its id, the facts and the money stay.

    Nothing about it is taken in any more. Cut off, it goes on when it is called again; done before, it says so.
    """
    with call.database.ledger() as tx:
        _check_rules(tx)
        known = erasing.find(tx, erasing.ORG, org)
    if known is not None and known.finished_at is not None:
        return ErasureView.model_validate(known)
    with call.writing() as tx:
        if known is None:
            found = orgs.get(tx, orgs.find(tx, org))
            if found.org_id == SYSTEM_ORG:
                raise Invalid("org", "must not be the system org: the fleet's own jobs are its")
            begun = _begun(call, tx, found.org_id, None, [Mark(MarkKind.NAME, found.name)], reason)
            # What the fleet asks of it itself waits here, until it goes.
            gates.close(tx, Gate("org", str(found.org_id), "the org is erased", None, GATE_ACTOR))
        else:
            begun = _gone_on(call, tx, known, known.marks, reason)
        call.audit(tx, begun.org_id, begun.facts(), event="org.erasure_begun")
    return _erase(begun, "org.erased")


def tried_again(do: Callable[[], T], table: str, *, within_s: float = WAIT_S) -> T:
    """Do it; what somebody has locked in a table is tried again for a while.

    Raises `Transient` that names the table, and says that the erasure goes on when it is asked for again; as soon as
    PostgreSQL has been asked in vain for so long, too, for it may be busy with a pattern.
    """
    ends_at = time.monotonic() + within_s
    while True:
        try:
            return do()
        except DatabaseUnavailable as error:
            if is_away(error) and not isinstance(error.__cause__, AnswerOverdue):
                raise
            if time.monotonic() >= ends_at:
                is_locked = isinstance(error, RowLocked)
                why = "somebody has locked a row" if is_locked else f"a statement took too long: {error.reason}"
                raise Transient(f"{table}: {why}; {GOES_ON}", code=error.code) from error
        NEVER.wait(PAUSE_S)


@dataclass(slots=True)
class Work:
    """One erasure under way."""

    call: Call
    erasure_id: UUID
    org_id: UUID
    marks: Sequence[Mark]
    searches: Sequence[Search]
    reason: str
    table: str = "erasures"
    """That is gone through now."""
    files: int = 0
    blocked: set[tuple[str, str]] = field(default_factory=set)
    """Tables in which rows were left in the pass that is under way, and why."""

    def facts(self) -> JsonObject:
        """What the audit log says of it."""
        return {"erasure_id": str(self.erasure_id), "reason": self.reason}

    def patiently(self, do: Callable[Concatenate[Transaction, P], T], *given: P.args, **options: P.kwargs) -> T:
        """Do it in a transaction of its own; what somebody has locked is tried again for a while."""

        def try_it() -> T:
            with self.call.database.ledger() as tx:
                return do(tx, *given, **options)

        return tried_again(try_it, self.table)

    def wait_for(self, what_is_left: Callable[[], str]) -> None:
        """Look again and again; raises `Transient` that says what is left, and that it goes on when asked again."""
        ends_at = time.monotonic() + WAIT_S
        while left := what_is_left():
            if time.monotonic() >= ends_at:
                raise Transient(f"{left}; {GOES_ON}", code="erasure.waits")
            NEVER.wait(PAUSE_S)


def _erase(work: Work, event: str) -> ErasureView:
    """Go through all tables until nothing is left to change, and nobody is left who may have read of them before."""
    tables = work.patiently(erasing.tables)
    before = work.patiently(erasing.open_transactions)
    _end_jobs(work)
    for _ in range(MOST_PASSES):
        are_closed = not _open_still(work, before)
        blocked, work.blocked, work.files = work.blocked, set(), 0
        changed = sum([_erase_table(work, table, search) for search in work.searches for table in tables])
        _remove_files(work)
        work.patiently(erasing.count, work.erasure_id, rows=changed, files_removed=work.files)
        for table, why in blocked & work.blocked:
            raise Conflict(f"{table}: a row cannot be erased: {why}", code="erasure.blocked")
        if are_closed and not (changed or work.blocked):
            for table, search in product(tables, work.searches):
                work.patiently(erasing.forget_statistics, work.erasure_id, table, search)
            return _finish(work, event)
        # What they have read of the person may come back with what they write.
        since, before = work.patiently(ledger.read_time), work.patiently(erasing.open_transactions)
        work.wait_for(partial(_run_still, work, since))
        work.wait_for(partial(_open_still, work, before))
    raise Transient(f"somebody writes about whom is erased as fast as it goes; {GOES_ON}", code="erasure.waits")


def _check_rules(tx: Transaction) -> None:
    """Raises `Conflict` that names the tables whose rows would stay: they have a fence, and no erasure rule."""
    left_out = erasing.tables_without_rule(tx)
    if left_out:
        raise Conflict(f"{', '.join(left_out)}: without an erasure rule, rows would stay", code="erasure.no_rule")


def _begun(
    call: Call, tx: Transaction, org_id: UUID, whom: OrgPerson | None, given: Sequence[Mark], reason: str
) -> Work:
    known = [] if whom is None else erasing.known(tx, org_id)
    marks = [*given] if whom is None else [*marks_of(known, whom.user_id), *given]
    searches = searches_for(marks, addresses_of_others(known, None if whom is None else whom.user_id))
    why = _without(searches, reason)
    erasure_id = erasing.begin(tx, org_id, whom, marks, reason=why, by=call.origin.actor_id)
    if erasure_id is None:
        raise Conflict("somebody else has just begun the same erasure; ask again, and it goes on", code="erasure.begun")
    return Work(call, erasure_id, org_id, marks, searches, why)


def _no_user(tx: Transaction, text: str, org_id: UUID) -> tuple[OrgPerson, Mark]:
    """Somebody who is no user of the org, by an address or by the id of a removed user; raises `Invalid`."""
    removed = erasing.removed_user(tx, text, org_id)
    if removed is not None:
        return OrgPerson(removed, org_id, str(removed)), Mark(MarkKind.ID, str(removed))
    found = Mark(MarkKind.ADDRESS, check_address("user", text))
    if found.key in map(address_key, addresses_of_others(erasing.known(tx, org_id), None)):
        raise Invalid(
            "user", "is an address of a user of the org: name the user by the address that `users list` shows"
        )
    return OrgPerson(uuid4(), org_id, found.key), found


def _gone_on(call: Call, tx: Transaction, known: Erasure, marks: Sequence[Mark], reason: str) -> Work:
    people = [] if known.person_id is None else erasing.known(tx, known.org_id)
    searches = searches_for(marks, addresses_of_others(people, known.person_id))
    return Work(call, known.erasure_id, known.org_id, marks, searches, _without(searches, reason))


def searches_for(marks: Sequence[Mark], others: Sequence[str]) -> Sequence[Search]:
    """Searches for marks, the longest first as in one search, whose patterns PostgreSQL reads quickly.

    The time that it needs to read a pattern grows with the square of the length. Raises `Invalid` for a mark whose own
    pattern it would not read at all.
    """
    searches: list[Search] = []
    together: list[Mark] = []
    for mark in sorted(marks, key=lambda one: -len(one.text)):
        search = search_for([*together, mark], others)
        if together and len(search.loose) > LONGEST_PATTERN:
            together, search = [mark], search_for([mark], others)
        else:
            together, searches = [*together, mark], searches[:-1]
        if len(search.loose) > MOST_OF_PATTERN:
            raise Invalid(mark.kind.value, f"is too long to be looked for: {len(mark.text)} letters")
        searches.append(search)
    return searches or [search_for([])]


def _without(searches: Sequence[Search], reason: str) -> str:
    for search in searches:
        reason = search.without(reason)
    return without_addresses(reason)


def _end_jobs(work: Work) -> None:
    """Cancel every live job that is about them, and take it from the worker that holds it."""
    live: set[UUID] = set()
    work.table = erasing.JOBS
    pages = range(0, work.patiently(erasing.whole, erasing.JOBS).pages, erasing.PAGES)
    for search, page in product(work.searches, pages):
        found = work.patiently(erasing.live_jobs, work.erasure_id, page, search)
        if found:
            ended = tried_again(partial(_cancel, work, found), work.table)
            live |= {*ended.asked, *ended.descendants}
    work.wait_for(partial(_held_still, work, sorted(live)))


def _cancel(work: Work, job_ids: Sequence[UUID]) -> CancellationResult:
    return cancellations.cancel(work.call.database, job_ids, CANCELED, by=work.call.origin, org_id=work.org_id)


def _held_still(work: Work, job_ids: Sequence[UUID]) -> str:
    """Take jobs from their workers, but for those that somebody has locked; says so where workers hold some still."""
    left = 0
    for start in range(0, len(job_ids), cancellations.BATCH):
        some = job_ids[start : start + cancellations.BATCH]
        work.patiently(recovery.take_away, some, CANCELED, cause="erased")
        left += work.patiently(erasing.held, some)
    return "handlers hold jobs that are about whom is erased" if left else ""


def _run_still(work: Work, since: datetime) -> str:
    """Says so where jobs of the org run that have begun before."""
    left = work.patiently(erasing.older_claims, work.org_id, since)
    return "jobs of the org that began before still run" if left else ""


def _open_still(work: Work, before: Mapping[str, str]) -> str:
    """Says which of these transactions are still open: of requests, of services' own SQL, of a backup."""
    left = sorted(before[one] for one in before.keys() & work.patiently(erasing.open_transactions).keys())
    return f"transactions that began before are still open: {', '.join(left)}" if left else ""


def _erase_table(work: Work, table: str, search: Search) -> int:
    work.table, changed = table, 0
    part: PagesLeft | None = work.patiently(erasing.whole, table)
    while part is not None:
        done = work.patiently(erasing.erase_rows, work.erasure_id, part, search)
        changed, part = changed + done.rows, done.rest
        if done.blocked is not None:  # left for the next pass
            work.blocked.add((table, done.blocked))
    return changed


def _remove_files(work: Work) -> None:
    remove = work.call.remove_files
    if remove is None:
        raise TypeError("who erases must be able to remove files")
    while found := work.patiently(artifacts.of_erased_org, work.org_id, most=FILES):
        remove([one.place for one in found])
        ids = [one.artifact_id for one in found]
        work.patiently(artifacts.record_removed, ids)
        work.files += len(ids)


def _finish(work: Work, event: str) -> ErasureView:
    with work.call.writing() as tx:
        done = erasing.finish(tx, work.erasure_id)
        if done is not None:
            work.call.audit(tx, work.org_id, work.facts() | {"rows": done.rows, "files": done.files}, event=event)
        else:  # by somebody else, at the same time
            done = erasing.finished(tx, work.erasure_id)
        if done is None:
            raise Conflict("the person has been added again meanwhile", code="erasure.again")
    return ErasureView.model_validate(done)
