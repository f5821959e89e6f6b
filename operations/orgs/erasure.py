"""Erasure: a person, or an org, is taken out of every table, and the fact stays (docs: erase-a-person.md).

A deed takes as long as the org is large. It goes on where another one was cut off, and ends where one has ended.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from threading import Event
from typing import Annotated, ClassVar, Concatenate, ParamSpec, TypeVar
from uuid import UUID, uuid4

from pydantic import Field

from domain.jobs.failures import Conflict, Gone, Invalid, Transient
from domain.jobs.job import SYSTEM_ORG, JsonObject
from domain.payloads.mail_address import address_key, check_address
from domain.privacy.erasure import Mark, MarkKind, Search, addresses_of_others, marks_of, named, search_for
from domain.privacy.personal_data import without_addresses
from operations import cancellations
from operations.call import Call
from operations.cancellations import Canceled
from operations.operation import WORDS, OperatorsOnly, Option, Record
from operations.orgs.orgs import ORGS
from operations.orgs.users import USERS
from storage.access import erasing
from storage.access.erasing import JOBS, Blocked, Erasure, Person, Table
from storage.exchange import artifacts
from storage.ledger import gates, ledger, orgs, recovery
from storage.ledger.gates import Gate
from storage.postgres.database import Transaction
from storage.postgres.execution import StatementAborted

OPERATORS = OperatorsOnly("it cannot be undone, and takes as long as the org is large")
CANCELED = "whom it is about is erased"
GATE_ACTOR = "erasure"
FILES = 500
"""Whose bytes are removed by one request."""
MOST_PASSES = 10
"""Through all tables: the second finds what was written during the first."""
WAIT_S = 60.0
"""For rows that somebody has locked, and for jobs that began before."""
PAUSE_S = 0.2
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
        known = erasing.find(tx, erasing.USER, user, call.org_id)
        is_done = known is not None and known.finished_at is not None
        whom = erasing.person(tx, user, call.org_id) if known is None or is_done else None
        # Of an address there may be more since it was erased.
        if whom is None and call.org_id is not None and (known is None or (is_done and "@" in user)):
            whom, mark = _no_user(tx, user, call.org_id)
            given = [mark, *given]
    if known is not None and is_done and whom is None:
        return _view(known)
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
        known = erasing.find(tx, erasing.ORG, org)
    if known is not None and known.finished_at is not None:
        return _view(known)
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


@dataclass(slots=True)
class Work:
    """One erasure under way."""

    call: Call
    erasure_id: UUID
    org_id: UUID
    marks: Sequence[Mark]
    search: Search
    reason: str
    rows: int = 0
    files: int = 0
    blocked: set[Blocked] = field(default_factory=set)
    """In the pass that is under way."""

    def facts(self) -> JsonObject:
        """What the audit log says of it."""
        return {"erasure_id": str(self.erasure_id), "reason": self.reason}

    def patiently(self, do: Callable[Concatenate[Transaction, P], T], *given: P.args, **options: P.kwargs) -> T:
        """Do it in a transaction of its own; what somebody has locked is tried again for a while."""

        def try_it() -> T:
            with self.call.database.ledger() as tx:
                return do(tx, *given, **options)

        return self.again(try_it)

    def again(self, do: Callable[[], T]) -> T:
        """Do it; what somebody has locked is tried again for a while."""
        ends_at = time.monotonic() + WAIT_S
        while True:
            try:
                return do()
            except StatementAborted:
                if time.monotonic() >= ends_at:
                    raise
            NEVER.wait(PAUSE_S)

    def wait_until(self, is_done: Callable[[], bool], what: str) -> None:
        """Look again and again; raises `Transient` that says what is not done, and that it goes on when asked again."""
        ends_at = time.monotonic() + WAIT_S
        while not is_done():
            if time.monotonic() >= ends_at:
                raise Transient(f"{what}; ask for the erasure again, and it goes on", code="erasure.waits")
            NEVER.wait(PAUSE_S)


def _erase(work: Work, event: str) -> ErasureView:
    tables = work.patiently(erasing.tables)
    _end_jobs(work, next(one for one in tables if one.name == JOBS))
    for _ in range(MOST_PASSES):
        before, work.blocked = work.blocked, set()
        changed = sum([_erase_table(work, table) for table in tables])
        _remove_files(work)
        for same in before & work.blocked:
            raise Conflict(f"{same.table}: a row cannot be erased: {same.why}", code="erasure.blocked")
        if not changed:
            for table in tables:
                work.patiently(erasing.forget_statistics, work.erasure_id, table, work.search)
            return _finish(work, event)
        work.rows += changed
        # What they have read of the person may come back with what they write.
        since = work.patiently(ledger.read_time)
        work.wait_until(partial(_are_new, work, since), "jobs of the org that began before still run")
    raise Transient("somebody writes about whom is erased as fast as it goes; ask again", code="erasure.waits")


def _begun(call: Call, tx: Transaction, org_id: UUID, whom: Person | None, given: Sequence[Mark], reason: str) -> Work:
    known = [] if whom is None else erasing.known(tx, org_id)
    marks = [*given] if whom is None else [*marks_of(known, whom.user_id), *given]
    search = search_for(marks, addresses_of_others(known, None if whom is None else whom.user_id))
    why = without_addresses(search.without(reason))
    erasure_id = erasing.begin(tx, org_id, whom, marks, reason=why, by=call.origin.actor_id)
    return Work(call, erasure_id, org_id, marks, search, why)


def _no_user(tx: Transaction, text: str, org_id: UUID) -> tuple[Person, Mark]:
    """Somebody who is no user of the org, by an address or by the id of a removed user; raises `Invalid`."""
    removed = erasing.removed_user(tx, text, org_id)
    if removed is not None:
        return Person(removed, org_id, str(removed)), Mark(MarkKind.ID, str(removed))
    found = Mark(MarkKind.ADDRESS, check_address("user", text))
    if found.key in map(address_key, addresses_of_others(erasing.known(tx, org_id), None)):
        raise Invalid(
            "user", "is an address of a user of the org: name the user by the address that `users list` shows"
        )
    return Person(uuid4(), org_id, found.key), found


def _gone_on(call: Call, tx: Transaction, known: Erasure, marks: Sequence[Mark], reason: str) -> Work:
    people = [] if known.person_id is None else erasing.known(tx, known.org_id)
    search = search_for(marks, addresses_of_others(people, known.person_id))
    return Work(call, known.erasure_id, known.org_id, marks, search, without_addresses(search.without(reason)))


def _end_jobs(work: Work, jobs: Table) -> None:
    """Cancel every live job that is about them, and take it from the worker that holds it."""
    live: set[UUID] = set()
    for page in work.patiently(erasing.parts, jobs):
        found = work.patiently(erasing.live_jobs, work.erasure_id, jobs, page, work.search)
        if found:
            ended = work.again(partial(_cancel, work, found))
            live |= {*ended.asked, *ended.descendants}
    work.wait_until(partial(_are_taken, work, sorted(live)), "handlers hold jobs that are about whom is erased")


def _cancel(work: Work, job_ids: Sequence[UUID]) -> Canceled:
    return cancellations.cancel(work.call.database, job_ids, CANCELED, by=work.call.origin, org_id=work.org_id)


def _are_taken(work: Work, job_ids: Sequence[UUID]) -> bool:
    """Take jobs from their workers, but for those that somebody has locked; whether no worker holds any more."""
    left = 0
    for start in range(0, len(job_ids), cancellations.BATCH):
        some = job_ids[start : start + cancellations.BATCH]
        work.patiently(recovery.take_away, some, CANCELED, cause="erased")
        left += work.patiently(erasing.held, some)
    return left == 0


def _erase_table(work: Work, table: Table) -> int:
    changed = 0
    for page in work.patiently(erasing.parts, table):
        rows = work.patiently(erasing.erase_part, work.erasure_id, table, page, work.search)
        if isinstance(rows, Blocked):
            work.blocked.add(rows)
            rows = 1  # left for the next pass
        changed += rows
    return changed


def _are_new(work: Work, since: datetime) -> bool:
    """Whether all jobs of the org that run have begun since."""
    return work.patiently(erasing.older_claims, work.org_id, since) == 0


def _remove_files(work: Work) -> None:
    remove = work.call.remove_files
    if remove is None:
        raise TypeError("who erases must be able to remove files")
    while found := work.patiently(erasing.files, work.org_id, most=FILES):
        remove([one.place for one in found])
        ids = [one.artifact_id for one in found]
        work.patiently(artifacts.record_removed, ids)
        work.files += len(ids)


def _finish(work: Work, event: str) -> ErasureView:
    with work.call.writing() as tx:
        done = erasing.finish(tx, work.erasure_id, rows=work.rows, files_removed=work.files)
        if done is None:
            raise Conflict("somebody else has finished the same erasure", code="erasure.finished")
        work.call.audit(tx, work.org_id, work.facts() | {"rows": done.rows, "files": done.files}, event=event)
    return _view(done)


def _view(found: Erasure) -> ErasureView:
    return ErasureView.model_validate(found)
