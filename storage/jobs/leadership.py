"""Which relay leads: a leased row, timed by the database alone. Its holder must be heard, whatever else lives."""

import os
import socket
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg

from storage.postgres.execution import translated
from storage.postgres.queries import statement

LEASE = timedelta(seconds=10)
"""How long a leader may be silent.

Five times the time between two renewals (`engine/relay/relay.py`), so that a slow statement deposes nobody; and short,
because nothing is published while a leader is dead and its connection still stands. A leader whose connection has ended
is followed at once.
"""

Session = psycopg.Connection[Any]
"""A connection of the relay's own: leadership goes with it, and it hears the notifications."""


@dataclass(frozen=True, slots=True)
class Leadership:
    """A relay that wants to lead, and the session by which it does."""

    session: Session
    holder: UUID
    lease: timedelta = LEASE

    def take(self) -> bool:
        """Lead, or go on leading; false while another does. A lease that ended while nobody else took it goes on."""
        asked = {"holder": self.holder, "hostname": socket.gethostname(), "pid": os.getpid(), "lease": self.lease}
        return self._run("take_leadership", asked).fetchone() is not None

    def give_up(self) -> None:
        """Let another lead at once."""
        self._run("give_up_leadership", {"holder": self.holder})

    def _run(self, name: str, parameters: dict[str, object]) -> "psycopg.Cursor[Any]":
        with translated():
            return self.session.execute(statement(name).encode(), parameters)
