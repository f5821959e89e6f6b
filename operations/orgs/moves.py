"""An org moves to another cell, with all that is its: drained, handed over in one snapshot, checked, opened there.

Each step is written down before the next begins, so that a move that was cut off goes on when it is asked for again,
and no org is open in two cells (docs: cells.md#the-move).
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from threading import Event
from uuid import UUID

from domain.jobs.failures import Conflict, Gone, Invalid, Transient
from domain.jobs.gate_causes import Cause
from domain.jobs.job import SYSTEM_ORG, JsonObject, Origin
from storage.jobs import gates, recovery
from storage.jobs.audit_log import deeds
from storage.jobs.gates import Gate
from storage.orgs import moving, orgs
from storage.orgs.access import erasing
from storage.orgs.moving import OrgMove
from storage.orgs.owning import OwnersSession
from storage.postgres.database import Database, Transaction
from storage.postgres.execution import DatabaseError, StatementAborted

PAUSE_S = 0.2
LONGEST_LEASE = timedelta(hours=1)
"""`POSTROOM_LEASE_S` at most."""
CHANGED = frozenset({"40001", "40P01", "55P03", "23503"})
"""What PostgreSQL says of a row that somebody has changed or locked since the snapshot, of two that wait for each
other, and of a row that refers to one that goes: something of the org has come in. A full disk is none of these."""
GOES_ON = "ask for the move again, and it goes on; `orgs stay` lets the org stay"
NEVER = Event()


class MoveStep(StrEnum):
    """What is written down, in this order; a move that is cut off goes on from there."""

    DRAINING = "draining"
    """Nothing of the org is claimed any more."""
    CLOSED = "closed"
    """Nothing is enqueued for it."""
    COPIED = "copied"
    """The other ledger has all, closed."""
    LEFT = "left"
    """The old ledger has nothing of it."""
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Patience:
    """How many seconds a move waits for others."""

    drained_within_s: float = 60.0
    """For the org's held jobs to end, before they are given back."""
    waits_s: float = 60.0
    """For transactions that began before, for rows that somebody has locked, and for the counting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """The ledger that the org leaves, by the fleet's own roles and the owner's, and that which it comes into."""

    database: Database
    source: OwnersSession
    target: OwnersSession
    here: str
    there: str


PATIENCE = Patience()


@dataclass(frozen=True, slots=True)
class MovedOrg:
    """An org in its new cell."""

    org_id: UUID
    cell: str
    tables: int
    rows: int
    given_back: int
    """Jobs that were taken from their workers."""


@dataclass(frozen=True, slots=True)
class MoveWork:
    """One move under way."""

    cells: Cells
    org_id: UUID
    by: Origin
    has_files: bool
    patience: Patience
    done: Callable[[MoveStep], object]

    def wait_for(self, what_is_left: Callable[[], str], *, longer_s: float = 0.0) -> None:
        """Look again and again; raises `Transient` that says what is left."""
        ends_at = time.monotonic() + self.patience.waits_s + longer_s
        while left := what_is_left():
            if time.monotonic() >= ends_at:
                raise Transient(f"{left}; {GOES_ON}")
            NEVER.wait(PAUSE_S)


def move(
    cells: Cells,
    named: str,
    *,
    by: Origin,
    has_files: bool = False,
    patience: Patience = PATIENCE,
    done: Callable[[MoveStep], object] = str,
) -> MovedOrg:
    """Move the org to the other cell, or go on with a move that was cut off; `done` hears of each step.

    Raises `Invalid` or `Conflict` for an org that cannot go there, with the reason, and `Transient` where somebody
    keeps it; then it is asked for again. `has_files`: whether the other cell reads the org's files.
    """
    work = MoveWork(cells, _org(cells, named), by, has_files, patience, done)
    with cells.source.transaction() as tx:
        begun = moving.move(tx, work.org_id)
    if begun is not None and begun.state in {moving.LEAVING, moving.LEFT} and begun.cell != cells.there:
        raise Conflict(f"the org is in the cell {begun.cell}, or on its way there")
    given_back = 0
    if begun is None or begun.state != moving.LEFT:
        _check(work)
        with cells.target.transaction() as elsewhere, cells.source.transaction() as tx:
            moving.bring_late_events(elsewhere, tx, work.org_id)
        given_back = _close(work, begun)
        _hand_over(work, given_back)
        done(MoveStep.LEFT)
    moved = _open(work, given_back)
    done(MoveStep.OPEN)
    return moved


def _org(cells: Cells, named: str) -> UUID:
    """The org by id or name, which is here, or has left from here and is in the other ledger."""
    try:
        with cells.source.transaction() as tx:
            found = orgs.find(tx, named)
    except Gone:
        left = _org_that_left(cells, named)
        if left is None:
            raise
        found = left
    if found == SYSTEM_ORG:
        raise Invalid("org", "must not be the system org: each cell has one")
    return found


def _org_that_left(cells: Cells, named: str) -> UUID | None:
    """The org of the other ledger, where it has left this one: of any other org nothing is written here."""
    try:
        with cells.target.transaction() as tx:
            found = orgs.find(tx, named)
    except Gone:
        return None
    with cells.source.transaction() as tx:
        begun = moving.move(tx, found)
    return found if begun is not None and begun.state == moving.LEFT else None


def _check(work: MoveWork) -> None:
    """Raise `Invalid` with the reason for which the org cannot go there."""
    cells, org_id = work.cells, work.org_id
    with cells.source.transaction() as tx:
        here = moving.cell(tx, org_id)
    with cells.target.transaction() as tx:
        there = moving.cell(tx, org_id)
    if here is None or there is None or set(here.schema) != set(there.schema):
        raise Invalid(
            "to",
            "has another release, or other tables of your own: run `celery -A tasks database migrate` of one release in"
            " both cells, and make your packages' tables in both",
        )
    if (here.name, there.name) != (cells.here, cells.there) or here.name == there.name:
        raise Invalid("to", f"leads from the cell {here.name} to the cell {there.name}: mend the settings")
    with cells.source.transaction() as tx:
        found = moving.why_not(tx, org_id, there)
    if found.tables:
        raise Invalid("org", f"cannot leave with all that is its: {'; '.join(found.tables)}")
    if found.erasures:
        raise Invalid("org", "is being erased, or was, or a person of it is: let the erasure end first")
    if found.sealed:
        raise Invalid("to", "has not the key that has sealed the org's tokens: add it to that POSTROOM_SEALING_KEYS")
    if found.files and not work.has_files:
        raise Invalid("files", f"are {found.files}: let the other cell read them, and say so with --files-are-there")
    if found.unknown_types:
        raise Invalid("to", f"knows no job type {', '.join(sorted(found.unknown_types))}")


def _close(work: MoveWork, begun: OrgMove | None) -> int:
    """Let nothing of the org run, and then nothing in; returns how many jobs were taken from their workers."""
    cells, org_id = work.cells, work.org_id
    with cells.database.ledger() as tx:
        if begun is None or begun.state != moving.LEAVING:
            moving.begin(tx, org_id, cells.there, by=work.by.actor_id)
            deeds.record(tx, "org.leaving", {"cell": cells.there}, by=work.by, org_id=org_id)
        reason = f"the org moves to the cell {cells.there}"
        gates.close(tx, Gate("org", str(org_id), reason, None, work.by.actor_id, Cause.MOVE))
    work.done(MoveStep.DRAINING)
    _end_older(work)
    given_back = _drain(work)
    with cells.database.ledger() as tx:
        moving.close(tx, org_id)
    work.done(MoveStep.CLOSED)
    _end_older(work)
    work.wait_for(lambda: _uncounted(work))
    return given_back


def _drain(work: MoveWork) -> int:
    """Wait until no worker holds a job of the org; what runs on is given back, with its effects as they are."""
    returned: set[UUID] = set()
    give_back_at = time.monotonic() + work.patience.drained_within_s

    def held() -> str:
        with work.cells.database.ledger() as tx:
            claims = moving.held_claims(tx, work.org_id)
            if claims and time.monotonic() >= give_back_at:
                tokens = {*claims.values()}
                returned.update(recovery.return_unanswered(tx, [*tokens], LONGEST_LEASE, job_ids=[*claims]).job_ids)
        return f"workers hold {len(claims)} jobs of the org" if claims else ""

    work.wait_for(held, longer_s=work.patience.drained_within_s)
    return len(returned)


def _hand_over(work: MoveWork, given_back: int) -> None:
    """Try it until nobody has changed a row meanwhile."""
    ends_at = time.monotonic() + work.patience.waits_s
    while True:
        try:
            _hand_over_once(work, given_back)
        except (StatementAborted, Invalid, DatabaseError) as error:
            if not is_changed(error):
                raise
            if time.monotonic() >= ends_at:
                why = f"somebody changes the org's rows, or has locked one; {GOES_ON}"
                raise Transient(why) from error
        else:
            return
        NEVER.wait(PAUSE_S)


def is_changed(error: Exception) -> bool:
    """Whether somebody has changed or locked a row of the org since the snapshot, or added one."""
    return not CHANGED.isdisjoint(getattr(one, "sqlstate", None) for one in (error, error.__cause__))


def _hand_over_once(work: MoveWork, given_back: int) -> None:
    """The one snapshot of the old ledger, the one transaction of the new: the new one commits first."""
    cells, org_id = work.cells, work.org_id
    with cells.source.transaction() as leaving:
        _hold(work, leaving)
        before = moving.sums(leaving, org_id)
        with cells.target.transaction() as coming:
            moving.hand_over(leaving, coming, org_id)
            after = moving.sums(coming, org_id)
            wrong = [
                f"{name}: {before[name].rows} rows left, {after[name].rows} came"
                + " with other values" * (before[name].rows == after[name].rows)
                for name in before
                if before[name] != after[name]
            ]
            if wrong:
                raise Conflict(f"what came is not what left: {'; '.join(wrong)}")
            moving.arrive(coming, org_id, cells.here, by=work.by.actor_id)
            rows = sum(one.rows for one in before.values())
            facts = {"org_id": str(org_id), **_facts(work, rows, given_back)}
            deeds.record(leaving, "org.moved", facts, by=work.by, org_id=SYSTEM_ORG)
        work.done(MoveStep.COPIED)


def _hold(work: MoveWork, leaving: Transaction) -> None:
    """Begin the snapshot; raises where somebody has let the org stay or its jobs run, or exports its events."""
    held = moving.hold(leaving, work.org_id, work.cells.there)
    if held is None:
        found = moving.move(leaving, work.org_id)
        if found is not None and found.state == moving.LEFT:
            raise Conflict(f"the org has left for the cell {found.cell}: somebody else has moved it meanwhile")
        raise Conflict("the org stays: somebody has taken the move back")
    if held.held:
        raise Conflict(f"workers hold {held.held} jobs of the org: somebody has opened its gate")
    if held.exports:
        raise Transient(f"an export of the audit log is under way; {GOES_ON}")


def _open(work: MoveWork, given_back: int) -> MovedOrg:
    """Let the org's work begin in its new cell; an org that is open there stays so."""
    cells, org_id = work.cells, work.org_id
    with cells.target.transaction() as tx:
        came = moving.move(tx, org_id)
        if came is None or came.state not in {moving.ARRIVING, moving.ARRIVED}:
            raise Conflict(f"the ledger of the cell {cells.there} has not the org")
        counts = moving.sums(tx, org_id)
        moved = MovedOrg(org_id, cells.there, len(counts), sum(one.rows for one in counts.values()), given_back)
        if came.state == moving.ARRIVED:
            return moved
        if not moving.open_arrived(tx, org_id):
            raise Transient(f"the clock of the other ledger is behind this one's; {GOES_ON}")
        gates.open_gate(tx, "org", str(org_id), Cause.MOVE)
        deeds.record(tx, "org.moved", _facts(work, moved.rows, given_back), by=work.by, org_id=org_id)
    return moved


def _facts(work: MoveWork, rows: int, given_back: int) -> JsonObject:
    """What both audit logs say of the move."""
    return {"cell": work.cells.there, "from": work.cells.here, "rows": rows, "given_back": given_back}


def _uncounted(work: MoveWork) -> str:
    with work.cells.database.ledger() as tx:
        left = moving.uncounted(tx, work.org_id)
    return f"{left} events of the org are not counted yet" if left else ""


def _end_older(work: MoveWork) -> None:
    """Wait until every transaction has ended that may have read that the org was open."""
    with work.cells.database.ledger() as tx:
        before = erasing.open_transactions(tx)

    def still_open() -> str:
        with work.cells.database.ledger() as tx:
            now = erasing.open_transactions(tx)
        left = sorted(before[one] for one in before.keys() & now.keys())
        return f"transactions that began before are still open: {', '.join(left)}" if left else ""

    work.wait_for(still_open)
