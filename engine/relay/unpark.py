"""Lets parked jobs out: behind a gate that opened, or whose concurrency key has room; and ends those that expired."""

from collections.abc import Sequence

from engine.runtime import Runtime
from storage.jobs import gates, recovery, relay
from storage.jobs.relay import Park

MOST_PARKS = 500
"""Gates and keys that one round looks at; the next round goes on after them."""

BATCH = 1000
"""Jobs per statement: large enough to keep up, small enough never to hold locks for long."""


class Unparker:
    """Part of the leading relay. The jobs behind a gate or a key cost nothing until it opens."""

    def __init__(self, runtime: Runtime) -> None:
        """Begin with the first name."""
        self._runtime = runtime
        self._opened: list[str] = []
        self._after = ""

    def turn(self) -> bool:
        """Let out what stands behind gates that have just opened, and look at the next names; true when there is more.

        First it ends what has expired while it was parked: nobody else looks at it, and it keeps its unique key.

        The second look finds what the first cannot know of: a gate that opened under another leader, a job that was
        parked by a gate which opened meanwhile, a key whose waiting job was called and did not come.
        """
        with self._runtime.database.statements() as tx:
            expired = recovery.end_expired(tx, most=BATCH)
            self._opened += [name for name in gates.forget_ended(tx) if name not in self._opened]
            known = [Park(name, BATCH) for name in self._opened[:1]]
            if known and relay.unpark(tx, known) < BATCH:
                self._opened.pop(0)
            found = relay.parks(tx, after=self._after, most=MOST_PARKS, batch=BATCH)
            self._after = found[-1].name if len(found) == MOST_PARKS else ""
            roomy = [park for park in found if park.room]
            moved = relay.unpark(tx, _bounded(roomy)) if roomy else 0
        return bool(self._opened) or moved >= BATCH or expired >= BATCH


def _bounded(parks: Sequence[Park]) -> Sequence[Park]:
    """As many names as fit into one statement."""
    taken, room = [], BATCH
    for park in parks:
        if room <= 0:
            break
        taken.append(Park(park.name, min(park.room, room)))
        room -= park.room
    return taken
