"""What goes wrong in a chaos run and when: drawn from a seed, so that the order of mischief can be repeated."""

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from random import Random


class Mischief(StrEnum):
    """What is done to the fleet and its servers."""

    KILL_WORKER = "kill a worker's main process"
    KILL_CHILD = "kill a prefork child"
    KILL_LEADER = "kill the relay's leader"
    KILL_BEAT = "kill a beat"
    FREEZE_WORKER = "freeze a worker past its lease"
    FREEZE_LEADER = "freeze the relay's leader past its lease"
    FLUSH_BROKER = "wipe the broker's data"
    RESTART_BROKER = "kill the broker and start it empty"
    RESTART_POSTGRES = "restart PostgreSQL, sessions ended"
    CRASH_POSTGRES = "kill PostgreSQL and start it"
    CUT_DATABASE = "cut the connections to PostgreSQL"
    CUT_BROKER = "cut the connections to the broker"
    STALL_DATABASE = "stall the connections to PostgreSQL"
    STALL_BROKER = "stall the connections to the broker"
    CLOSE_GATE = "close a gate for seconds"


KILLS = frozenset({Mischief.KILL_WORKER, Mischief.KILL_CHILD, Mischief.KILL_LEADER, Mischief.KILL_BEAT})
WIPES = frozenset({Mischief.FLUSH_BROKER, Mischief.RESTART_BROKER})
RESTARTS = frozenset({Mischief.RESTART_POSTGRES, Mischief.CRASH_POSTGRES})

PER_MINUTE: dict[Mischief, float] = {
    Mischief.KILL_WORKER: 3,
    Mischief.KILL_CHILD: 5,
    Mischief.KILL_LEADER: 1,
    Mischief.KILL_BEAT: 1,
    Mischief.FREEZE_WORKER: 2 / 3,
    Mischief.FREEZE_LEADER: 1 / 3,
    Mischief.FLUSH_BROKER: 1,
    Mischief.RESTART_BROKER: 2 / 3,
    Mischief.RESTART_POSTGRES: 1 / 3,
    Mischief.CRASH_POSTGRES: 1 / 3,
    Mischief.CUT_DATABASE: 2,
    Mischief.CUT_BROKER: 2,
    Mischief.STALL_DATABASE: 2 / 3,
    Mischief.STALL_BROKER: 2 / 3,
    Mischief.CLOSE_GATE: 2,
}
"""How often each happens; three minutes of it kill some thirty processes and wipe the broker five times."""

QUIET_START, QUIET_END = 0.05, 0.92
"""The shares of the run in which nothing goes wrong yet, and after which nothing goes wrong any more."""


@dataclass(frozen=True, order=True)
class Event:
    """One piece of mischief: when, what, to whom (a number for whoever can be the victim), and for how long."""

    at_s: float
    what: Mischief
    victim: int
    lasts_s: float


@dataclass(frozen=True)
class Plan:
    """A run, all of it decided by the seed."""

    seed: int
    seconds: float
    jobs: int
    lease_s: float
    orgs: int = 24

    def events(self) -> list[Event]:
        """The mischief in order; each kind is spread over the run, so that none comes all at once."""
        dice = Random(self.seed)  # noqa: S311 - a repeatable order is the point
        events = []
        for what, per_minute in PER_MINUTE.items():
            times = max(1, round(per_minute * self.seconds / 60))
            span = self.seconds * (QUIET_END - QUIET_START) / times
            for number in range(times):
                at = self.seconds * QUIET_START + span * (number + dice.random())
                events.append(Event(round(at, 2), what, dice.randrange(1000), self._length(what, dice)))
        return sorted(events)

    def counts(self) -> Counter[Mischief]:
        """How often each kind happens."""
        return Counter(event.what for event in self.events())

    def _length(self, what: Mischief, dice: Random) -> float:
        lease = self.lease_s
        match what:
            case Mischief.FREEZE_WORKER | Mischief.FREEZE_LEADER:
                return lease * dice.uniform(1.2, 1.5)
            case Mischief.STALL_DATABASE | Mischief.STALL_BROKER:
                return lease * dice.uniform(0.3, 1.3)
            case Mischief.CLOSE_GATE:
                return dice.uniform(2, 8)
        return 0.0
