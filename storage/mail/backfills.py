"""Backfills: which older mail of an account was asked for, and how far its pages have been read."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from storage.postgres.database import Transaction

State = Literal["listing", "listed", "cut"]


@dataclass(frozen=True, slots=True)
class WantedBackfill:
    """What was asked for; an account has one backfill of each query and window."""

    query: str
    since: datetime | None
    until: datetime | None
    classify: bool
    most: int


@dataclass(frozen=True, slots=True)
class Backfill:
    """How far one has come."""

    backfill_id: UUID
    account_id: UUID
    query: str
    since: datetime | None
    until_at: datetime
    """Mail that came in later is history's to report."""
    classify: bool
    most: int
    state: State
    page_token: str | None
    next_page_at: datetime
    pages: int
    restarts: int
    found: int
    """Messages that the pages named."""
    ordered: int
    """Of them those that were to be fetched: nobody had stored them."""
    handled: int
    """Of these those whose batch is done."""
    stored: int
    """Of these those that were stored; others were gone, drafts, spam or trash, or outside of the window."""
    started_at: datetime
    changed_at: datetime


def open_backfill(
    tx: Transaction, account_id: UUID, wanted: WantedBackfill, *, job_id: UUID, now: datetime
) -> Backfill:
    """Begin a backfill, or go on where an earlier attempt of the job stopped; another job's begins with the first page.

    Raises `Gone` without the account.
    """
    row = tx.one(
        "open_backfill",
        f"there is no account {account_id}",
        account_id=account_id,
        job_id=job_id,
        query=wanted.query,
        since=wanted.since,
        until=wanted.until,
        until_at=min(wanted.until or now, now),
        now=now,
        classify=wanted.classify,
        most=wanted.most,
    )
    return Backfill(**row._asdict())


def get(tx: Transaction, backfill_id: UUID) -> Backfill:
    """One backfill; raises `Gone` when there is none that this transaction may see."""
    return Backfill(**tx.one("get_backfill", f"there is no backfill {backfill_id}", backfill_id=backfill_id)._asdict())


def list_all(tx: Transaction, account_id: UUID, *, limit: int = 100) -> tuple[Backfill, ...]:
    """An account's backfills, the latest first."""
    rows = tx.run("list_backfills", account_id=account_id, limit=limit)
    return tuple(Backfill(**row._asdict()) for row in rows)


def advance(  # noqa: PLR0913 - what a page changes
    tx: Transaction,
    backfill: Backfill,
    *,
    page_token: str | None,
    state: State,
    next_page_at: datetime,
    found: int,
    ordered: int,
) -> bool:
    """Go on after the page that `backfill` stands at, in the transaction of its jobs; false when another has."""
    rows = tx.run(
        "advance_backfill",
        backfill_id=backfill.backfill_id,
        pages=backfill.pages,
        page_token=page_token,
        state=state,
        next_page_at=next_page_at,
        found=found,
        ordered=ordered,
    )
    return bool(rows)


def restart(tx: Transaction, backfill: Backfill) -> None:
    """Begin with the first page again, because the page's token has expired."""
    tx.run("restart_backfill", backfill_id=backfill.backfill_id, pages=backfill.pages)


def count(tx: Transaction, backfill_id: UUID, *, handled: int = 0, stored: int = 0) -> None:
    """Count messages that a batch has done, in the transaction that stores them."""
    tx.run("count_backfilled", backfill_id=backfill_id, handled=handled, stored=stored)
