"""What the relay asks of the ledger: due jobs, lost hints, and whether the broker still holds its data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from domain.jobs.job import Hint
from domain.jobs.scheduling.backlog_demand import Demand
from domain.jobs.scheduling.fairness import Tenant
from storage.jobs.leadership import Session
from storage.postgres.database import Transaction

LAST_ID = UUID(int=2**128 - 1)

GATE = "gate"
"""What the notification says when a gate was opened."""

RESULT = "result"
"""What it says when a job ended whose result somebody waits for."""

CHANNEL = "postroom_due"
"""The notification that wakes the relay when a job was enqueued by a producer that cannot publish."""


@dataclass(frozen=True, slots=True)
class DueJobs:
    """What came of looking at jobs: hints to publish after the commit, and how many jobs were moved in all."""

    hints: tuple[Hint, ...]
    moved: int


@dataclass(frozen=True, slots=True)
class Park:
    """What holds jobs back, and for how many of them there is room now."""

    name: str
    room: int


Backlog = Mapping[str, Sequence[int]]
"""The priorities of what waits in each queue that has a backlog, the highest first."""


def wake(tx: Transaction) -> None:
    """Have the relay look at the backlogs as soon as the transaction has committed, and not with its next round."""
    tx.run("wake_relay")


def publish_due(tx: Transaction, *, batch: int, hint_timeout: timedelta, burst: int) -> DueJobs:
    """Move jobs whose time has come: to the broker, to the backlog, or behind a gate."""
    rows = tx.run("publish_due", batch=batch, hint_timeout=hint_timeout, burst=burst)
    return DueJobs(tuple(Hint(row.id, row.job_type, row.queue) for row in rows if row.published), len(rows))


def backlog(tx: Transaction, queues: Sequence[str]) -> Backlog:
    """Which of these queues have a backlog, and at which priorities."""
    found: dict[str, list[int]] = {}
    for row in tx.run("list_backlog", queues=list(queues)):
        found.setdefault(row.queue, []).append(row.priority)
    return found


def waiting_tenants(tx: Transaction, queue: str, priority: int, *, start: UUID, most: int) -> Sequence[Tenant]:
    """Orgs with a backlog, beginning with `start` or the next after it, and from the first one on after the last."""
    asked = {"queue": queue, "priority": priority}
    rows = list(tx.run("list_waiting_orgs", **asked, start=start, last=LAST_ID, most=most))
    if len(rows) < most and start.int:
        rows += tx.run(
            "list_waiting_orgs", **asked, start=UUID(int=0), last=UUID(int=start.int - 1), most=most - len(rows)
        )
    return [Tenant(row.org_id, row.weight) for row in rows]


def count_backlog(tx: Transaction, demand: Demand) -> Demand:
    """How many jobs wait under backlog keys of one queue and priority, counted up to the given numbers."""
    first = next(iter(demand))
    rows = tx.run(
        "count_backlog",
        queue=first.queue,
        priority=first.priority,
        org_ids=[key.org_id for key in demand],
        mosts=list(demand.values()),
    )
    return {first._replace(org_id=row.org_id): row.jobs for row in rows}


def parks(tx: Transaction, *, after: str, most: int, batch: int) -> Sequence[Park]:
    """What holds jobs back, `most` names after a given one; `batch` stands for room without end."""
    return [Park(row.name, row.room) for row in tx.run("list_parks", after=after, most=most, batch=batch)]


def unpark(tx: Transaction, found: Sequence[Park]) -> int:
    """Move parked jobs to the backlog, for each name as many as it has room for; returns how many moved."""
    return len(tx.run("unpark_jobs", names=[park.name for park in found], rooms=[park.room for park in found]))


def mark_over_burst(tx: Transaction, queue: str, *, burst: int, newest: int) -> int:
    """Mark tenants that have more hints out than their burst; returns how many are new."""
    return len(tx.run("mark_over_burst", queue=queue, burst=burst, newest=newest))


def clear_over_burst(tx: Transaction, waiting: Backlog) -> None:
    """Let tenants without a backlog publish at once again."""
    levels = [(queue, priority) for queue, priorities in waiting.items() for priority in priorities]
    tx.run("clear_over_burst", queues=[queue for queue, _ in levels], priorities=[priority for _, priority in levels])


def close_queue(tx: Transaction, queue: str) -> None:
    """Let every new job of a queue wait for the relay."""
    tx.raw("insert into orgs_over_burst (queue) values (%(queue)s)", {"queue": queue})


def open_queue(tx: Transaction, queue: str) -> None:
    """Let enqueues publish into a queue again."""
    tx.raw("delete from orgs_over_burst where queue = %(queue)s and org_id is null", {"queue": queue})


def recall_hints(tx: Transaction, *, batch: int) -> int:
    """Put jobs whose hints are out back into the backlog, because the broker lost its data; returns how many."""
    return len(tx.run("recall_hints", batch=batch))


def known_epoch(tx: Transaction) -> str | None:
    """The broker's data set that the fleet last saw."""
    rows = tx.raw("select epoch from broker_epochs")
    return rows[0].epoch if rows else None


def remember_epoch(tx: Transaction, epoch: str) -> None:
    """Keep which data set the broker holds now."""
    tx.raw(
        "insert into broker_epochs (epoch) values (%(epoch)s)"
        " on conflict (only_row) do update set epoch = excluded.epoch, seen_at = now()",
        {"epoch": epoch},
    )


def listen(session: Session) -> None:
    """Subscribe to the wake-up notification."""
    session.execute(f"listen {CHANNEL}")


def wait(session: Session, seconds: float) -> frozenset[str]:
    """Wait for notifications and return what they said, `GATE` for one; also a check that the session lives."""
    session.execute("select 1")
    heard = {notice.payload for notice in session.notifies(timeout=seconds, stop_after=1)}
    # All that came meanwhile is heard at once: one look at the backlog answers every caller.
    return frozenset(heard | {notice.payload for notice in session.notifies(timeout=0)}) if heard else frozenset()
