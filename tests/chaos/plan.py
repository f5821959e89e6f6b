"""Which faults a chaos run injects and when: drawn from a seed, so that the same seed gives the same order."""

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from random import Random


class Fault(StrEnum):
    """A kind of fault, with its description."""

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
    SILENCE_DATABASE = "lose the connections to PostgreSQL without a word"
    SILENCE_BROKER = "lose the connections to the broker without a word"
    TRICKLE_DATABASE = "let PostgreSQL's answers trickle"
    CLOSE_GATE = "close a gate for seconds"


KILLS = frozenset({Fault.KILL_WORKER, Fault.KILL_CHILD, Fault.KILL_LEADER, Fault.KILL_BEAT})
WIPES = frozenset({Fault.FLUSH_BROKER, Fault.RESTART_BROKER})
RESTARTS = frozenset({Fault.RESTART_POSTGRES, Fault.CRASH_POSTGRES})

PER_MINUTE: dict[Fault, float] = {
    Fault.KILL_WORKER: 3,
    Fault.KILL_CHILD: 5,
    Fault.KILL_LEADER: 1,
    Fault.KILL_BEAT: 1,
    Fault.FREEZE_WORKER: 2 / 3,
    Fault.FREEZE_LEADER: 1 / 3,
    Fault.FLUSH_BROKER: 1,
    Fault.RESTART_BROKER: 2 / 3,
    Fault.RESTART_POSTGRES: 1 / 3,
    Fault.CRASH_POSTGRES: 1 / 3,
    Fault.CUT_DATABASE: 2,
    Fault.CUT_BROKER: 2,
    Fault.STALL_DATABASE: 2 / 3,
    Fault.STALL_BROKER: 2 / 3,
    Fault.SILENCE_DATABASE: 2 / 3,
    Fault.SILENCE_BROKER: 2 / 3,
    Fault.TRICKLE_DATABASE: 1 / 3,
    Fault.CLOSE_GATE: 2,
}
"""Faults per minute; a run of three minutes kills 30 processes and wipes the broker 5 times."""

QUIET_START, QUIET_END = 0.05, 0.92
"""Faults are injected only between these shares of the run."""


@dataclass(frozen=True, order=True)
class PlannedFault:
    """A fault of the plan: when, which, on which subject (a number, taken modulo the possible subjects), how long."""

    at_s: float
    what: Fault
    subject: int
    lasts_s: float


@dataclass(frozen=True)
class Plan:
    """A run; its faults follow from the seed."""

    seed: int
    seconds: float
    jobs: int
    lease_s: float
    orgs: int = 24

    def events(self) -> list[PlannedFault]:
        """All faults in order of time; each kind is spread evenly over the run."""
        rng = Random(self.seed)  # noqa: S311 - a repeatable order is the point
        events = []
        for what, per_minute in PER_MINUTE.items():
            times = max(1, round(per_minute * self.seconds / 60))
            span = self.seconds * (QUIET_END - QUIET_START) / times
            for number in range(times):
                at = self.seconds * QUIET_START + span * (number + rng.random())
                events.append(PlannedFault(round(at, 2), what, rng.randrange(1000), self._length(what, rng)))
        return sorted(events)

    def counts(self) -> Counter[Fault]:
        """How often each kind happens."""
        return Counter(event.what for event in self.events())

    def _length(self, what: Fault, rng: Random) -> float:
        lease = self.lease_s
        match what:
            case Fault.FREEZE_WORKER | Fault.FREEZE_LEADER:
                return lease * rng.uniform(1.2, 1.5)
            case Fault.STALL_DATABASE | Fault.STALL_BROKER | Fault.TRICKLE_DATABASE:
                return lease * rng.uniform(0.3, 1.3)
            case Fault.CLOSE_GATE:
                return rng.uniform(2, 8)
        return 0.0
