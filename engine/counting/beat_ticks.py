"""When periodic jobs are due in this installation, and what another process sees of beat: its ticks in the ledger."""

from collections.abc import Mapping
from datetime import timedelta

import celeryconfig
from domain.jobs.scheduling.ticks import Ticks, ticks_of
from engine.catalogue import catalogue
from storage.jobs.schedules import ticks
from storage.postgres.database import Transaction


def own_intervals() -> Mapping[str, timedelta]:
    """How often each periodic job of a package is due, which its handler says; the fleet's own are in its schedule."""
    return {one.name: one.every for one in catalogue if one.every is not None}


def intervals() -> Mapping[str, timedelta]:
    """How often each periodic job of this installation is due, the fleet's own and those of packages."""
    return {**celeryconfig.INTERVALS, **own_intervals()}


def look(tx: Transaction) -> Ticks:
    """Whether beat ticks for each periodic job of this installation."""
    return ticks_of(ticks.last(tx), intervals())
