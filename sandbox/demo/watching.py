"""Looks at a fleet until nothing is missing: rows of its database, what the emulators still deliver, and a deadline."""

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

import psycopg

from sandbox.demo.evidence import Ledger, read_ledger
from sandbox.demo.fleet import Fleet
from sandbox.demo.report import FINAL
from sandbox.demo.screen import Screen
from sandbox.emulator.control import MessagePlace

POLL_S = 0.25

Missing = Callable[[Ledger], str]
"""Says what is still missing, to complete "still missing: …"; an empty text when nothing is."""


class Late(Exception):
    """The time is up; the message says what is missing."""


class Watching:
    """All waits of a run; they have the same deadline."""

    def __init__(
        self,
        fleet: Fleet,
        screen: Screen,
        connection: psycopg.Connection[Any],
        places: Mapping[str, MessagePlace],
        *,
        deadline: float,
    ) -> None:
        """`places` has every message that was delivered so far; `deadline` is a time of the monotonic clock."""
        self._fleet = fleet
        self._screen = screen
        self._connection = connection
        self._places = places
        self._deadline = deadline

    def look(self) -> Ledger:
        """The database as it is now."""
        return read_ledger(self._connection)

    def wait(self, missing: Missing) -> Ledger:
        """Wait until nothing is missing; raises `Late` when the deadline passes first, `Died` when a process ends."""
        never = threading.Event()
        while missing_now := missing(ledger := self.look()):
            self._fleet.check()
            if time.monotonic() >= self._deadline:
                raise Late(f"the time is up; still missing: {missing_now}")
            self._screen.move_bars(ledger, len(self._places))
            never.wait(POLL_S)
        self._screen.move_bars(ledger, len(self._places))
        return ledger

    def rest(self) -> Ledger:
        """Wait until every message is decided and nothing is at work."""
        return self.wait(self.not_at_rest)

    def not_stored(self, ledger: Ledger) -> str:
        """How many of the delivered messages are not stored yet."""
        return _fewer("stored messages", sum(one.direction == "incoming" for one in ledger.messages), len(self._places))

    def not_at_rest(self, ledger: Ledger) -> str:
        """What is still undecided, at work or on its way."""
        decided = sum(one.classification is not None for one in ledger.messages)
        working = [job for job in ledger.jobs if job.state not in FINAL and not job.scheduled]
        pushes = int(self._fleet.gmail.push_state()["pending"])
        return (
            _fewer("decided messages", decided, len(self._places))
            or (f"the end of {len(working)} jobs, among them {working[0].job_type}" if working else "")
            or (f"the delivery of {pushes} pushes" if pushes else "")
        )


def _fewer(what: str, found: int, wanted: int) -> str:
    return f"{wanted - found} of {wanted} {what}" if found < wanted else ""
