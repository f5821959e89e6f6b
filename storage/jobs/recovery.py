"""Claims that go back: of processes that fell silent or stop, and those whose answer was lost."""

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from domain.jobs.job import JsonObject, State
from domain.jobs.lifecycle import LossCause, LostClaim, Settlement, lose_claim
from storage.jobs.ledger import Moved, end_unclaimed, read_time, settle, woken
from storage.postgres.database import Transaction
from storage.postgres.execution import Row

SESSION_MARGIN = timedelta(minutes=1)
"""How much longer than the longest deadline a handler's transaction may last, for the way back of what it has done."""


def rescue(tx: Transaction, *, batch: int) -> Moved:
    """Take back the jobs of silent processes and of attempts past their deadline, at most `batch` at a time.

    The lost claims stay locked until the transaction ends. `domain.jobs.lifecycle.lose_claim` decides each.
    """
    lost = [
        LostClaim(**(row._asdict() | {"cause": LossCause(row.cause)}))
        for row in tx.run("lock_lost_claims", batch=batch)
    ]
    if not lost:
        return Moved(frozenset(), ())
    now = read_time(tx)
    settled = settle(tx, [lose_claim(claim, now) for claim in lost])
    return Moved(frozenset(claim.job_id for claim in lost) - frozenset(settled.refused), settled.hints)


def take_away(tx: Transaction, job_ids: Sequence[UUID], reason: str, *, cause: str) -> frozenset[UUID]:
    """Cancel claimed jobs without their workers, which can write nothing more (promise P4); returns those it did.

    A job that somebody has locked, such as its own handler, is left as it is.
    """
    held = tx.run("lock_claims", job_ids=list(job_ids))
    if not held:
        return frozenset()
    detail: JsonObject = {"cause": cause, "reason": reason}
    settled = settle(
        tx, [Settlement(row.job_id, row.token, State.CANCELED, reason=reason, detail=detail) for row in held]
    )
    return frozenset(row.job_id for row in held) - frozenset(settled.refused)


def end_expired(tx: Transaction, *, most: int) -> int:
    """End parked jobs that have expired, which releases their keys; returns how many were found."""
    expired = [row.id for row in tx.run("list_expired", most=most)]
    end_unclaimed(tx, expired)
    return len(expired)


def return_claims(tx: Transaction, node_id: UUID, lease: timedelta) -> Moved:
    """Give back the jobs of a node that stops, but for those that somebody else has locked; no attempt is spent."""
    return _moved(tx.run("return_claims", node_id=node_id, tokens=[], job_ids=None, lease=lease, cause="shutdown"))


def return_unanswered(
    tx: Transaction, tokens: Sequence[UUID], lease: timedelta, *, job_ids: Sequence[UUID] | None = None
) -> Moved:
    """Give back what was claimed by these tokens, because nobody knows what it was; no attempt is spent.

    Of these jobs alone, where they are given: jobs of several orgs that were claimed together have one token.
    """
    only = None if job_ids is None else list(job_ids)
    return _moved(
        tx.run("return_claims", node_id=None, tokens=list(tokens), job_ids=only, lease=lease, cause="unanswered")
    )


def end_old_sessions(tx: Transaction, *, margin: timedelta = SESSION_MARGIN) -> int:
    """End the sessions of handlers whose transaction is older than any job may take; returns how many.

    The handler's SQL may have lifted its own time limits; its client has given up, and its locks would stay.
    """
    return int(tx.raw("select postroom.end_old_sessions(%(margin)s) as ended", {"margin": margin})[0].ended)


def _moved(rows: Sequence[Row]) -> Moved:
    returned, locked = (frozenset(row.id for row in rows if row.what == what) for what in ("returned", "locked"))
    return Moved(returned, woken(rows), locked)
