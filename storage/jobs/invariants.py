"""What must hold in every ledger, whatever happened to its processes (docs: promises.md): read from its rows alone.

Each look is one statement, and so sees one moment: what a fleet at work writes meanwhile is no contradiction.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol
from uuid import UUID

from domain.jobs.job import State
from domain.jobs.monitoring.consistency import GUARD_SAYS, find_gap

NEWEST = UUID(int=2**128 - 1)
"""Above every job's id, which begin with their time."""

RECENT = 100_000
"""How many of the newest jobs a look reads: part of a second."""

MOST_SHOWN = 25
"""What of one look is shown at most; a few are enough to begin with."""


class Statements(Protocol):
    """What runs a statement file of `storage`: a transaction."""

    def run(self, name: str, /, **parameters: object) -> Sequence[Any]:
        """The rows of the statement."""


class CheckedBatch(NamedTuple):
    """What one batch of jobs showed; `before` is where the next begins, None after the last."""

    wrong: Sequence[str]
    before: UUID | None


def audit_gaps(tx: Statements, *, before: UUID = NEWEST, batch: int) -> CheckedBatch:
    """Jobs whose audit log does not tell their whole life, among the newest before an id."""
    rows = tx.run("list_job_events", before=before, batch=batch)
    wrong = []
    for row in rows:
        events = list(zip(row.events, row.attempts, strict=True))
        state = State(row.state)
        audited = State.QUEUED if state is State.CLAIMED else state
        gap = find_gap(events, audited, row.attempt, dead_on_arrival=row.code == "unknown_type")
        if gap:
            wrong.append(f"job {row.id} ({row.state}): {gap} in {events}")
    return CheckedBatch(wrong, rows[-1].id if len(rows) == batch else None)


def missing_letters(tx: Statements) -> Sequence[str]:
    """Dead jobs without a dead letter."""
    rows = tx.run("find_wrong_letters", batch=RECENT)
    return [f"dead jobs without a letter: {row.id}" for row in rows]


def wrong_guards(tx: Statements) -> Sequence[str]:
    """Guards that contradict their jobs."""
    states, words = [state.value for state in GUARD_SAYS], list(GUARD_SAYS.values())
    rows = tx.run("find_wrong_guards", states=states, words=words, batch=RECENT)
    return [f"job {row.id} is {row.state}, but its guard says {row.status}" for row in rows]


def standing_runs(tx: Statements) -> Sequence[str]:
    """Runs of workflows that go on and have nothing to wait for."""
    return [row.wrong for row in tx.run("find_standing_runs", batch=RECENT)]


def wrong_slots(tx: Statements) -> Sequence[str]:
    """Concurrency slots that are not held rightly."""
    return [row.wrong for row in tx.run("find_wrong_slots", batch=RECENT)]


Look = Callable[[Statements], Sequence[str]]

BOUNDED: tuple[Look, ...] = (missing_letters, wrong_guards, wrong_slots, standing_runs)
"""What a fleet at work can afford, and finds nothing in it either, besides `audit_gaps`."""
