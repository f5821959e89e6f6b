"""What in the ledger may be worth an alert: dead letters, counted, and providers that refuse all calls."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from domain.notifications.alerts.due import ClosedGate, FirstRefusal, LetterCount
from storage.postgres.database import Transaction

MOST_LETTERS = 10_000
"""Read in 15 ms, of 100,000 open ones; a number this large says the same as any larger one."""


def count_letters(tx: Transaction, *, since: datetime, window: timedelta) -> Sequence[LetterCount]:
    """The open dead letters of all orgs since a time, per job type and window; as the ledger role only."""
    rows = tx.run("count_dead_letters", since=since, length=window, most=MOST_LETTERS)
    return [
        LetterCount(row.job_type, row.since, row.letters, str(row.first_id), row.first_code or "unknown")
        for row in rows
    ]


def parked_providers(tx: Transaction) -> Sequence[ClosedGate]:
    """Providers behind a gate that their own refusal closed."""
    return [ClosedGate(row.provider, row.reason, row.closed_at, row.until) for row in tx.run("list_parked_providers")]


def first_refusals(tx: Transaction, *, since: datetime, window: timedelta) -> Sequence[FirstRefusal]:
    """The first refused message of each window since a time."""
    rows = tx.run("list_first_refusals", since=since, length=window)
    return [FirstRefusal(row.since, row.id) for row in rows]


def count_refusals(tx: Transaction, *, within: timedelta) -> int:
    """How many messages were refused within this time; as the ledger role only."""
    rows = tx.raw("select count(*) as refused from refused_messages where at > now() - %(within)s", {"within": within})
    return int(rows[0].refused)


def undelivered(tx: Transaction, *, within: timedelta) -> int:
    """How many alerts died, or were refused for good within this time; up to 100."""
    return int(tx.run("count_undelivered_alerts", within=within)[0].undelivered)
