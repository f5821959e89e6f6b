"""What another process sees of beat: its ticks in the ledger, beside the schedule of this installation."""

import celeryconfig
from domain.jobs.scheduling.ticks import Ticks, ticks_of
from storage.jobs.schedules import ticks
from storage.postgres.database import Transaction


def look(tx: Transaction) -> Ticks:
    """Whether beat ticks for each periodic job of this release."""
    return ticks_of(ticks.last(tx), celeryconfig.INTERVALS)
