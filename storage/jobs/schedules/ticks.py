"""When beat last ticked for each periodic job: what an operator sees of beat when it is dead."""

from collections.abc import Sequence

from domain.jobs.scheduling.ticks import Tick
from storage.postgres.database import Transaction


def note(tx: Transaction, job_type: str) -> None:
    """Note a tick, whether or not it made a job: of two beats one makes it, and both live."""
    tx.run("note_tick", job_type=job_type)


def last(tx: Transaction) -> Sequence[Tick]:
    """The last tick of each periodic job that ever had one."""
    return [Tick(row.job_type, row.now - row.ticked_at, row.paused) for row in tx.run("list_ticks")]
