"""Counts the pushes that are acknowledged and thrown away; nothing of their content is kept."""

from dataclasses import dataclass
from datetime import date, datetime

from storage.postgres.database import Transaction


@dataclass(frozen=True, slots=True)
class RefusedPushes:
    """How many pushes were refused for one reason on one day (UTC)."""

    reason: str
    day: date
    count: int
    first_at: datetime
    last_at: datetime


def count_refused(tx: Transaction, reason: str) -> int:
    """Count one; `reason` is a word such as `unknown_account`. Returns today's count for it."""
    return int(tx.run("count_refused_push", reason=reason)[0][0])


def refused_since(tx: Transaction, day: date) -> tuple[RefusedPushes, ...]:
    """What was refused since a day, the latest first."""
    rows = tx.run("list_refused_pushes", since=day)
    return tuple(
        RefusedPushes(row.reason, row.day, int(row._asdict()["count"]), row.first_at, row.last_at) for row in rows
    )
