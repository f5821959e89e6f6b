"""The boundaries that a process crosses while it runs a job, and the watch that makes one of them go wrong.

A process acts in three ways: a statement or a commit to PostgreSQL, a call to a provider, a message to the
broker. A death between two boundaries looks like a death before the second, so "before each" is everywhere.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from threading import Lock

from tests.doubles.inline_worker import Station


class Kind(StrEnum):
    """What is crossed."""

    STATEMENT = "statement"
    COMMIT = "commit"
    CALL = "call"
    HINTS = "hints"


class Fault(StrEnum):
    """What happens at a boundary."""

    DEATH = "death"
    """The process ends before the boundary is crossed."""
    DEATH_AFTER = "death after"
    """It is crossed (committed, done, sent), and the process ends before it learns so."""
    REFUSED = "refused"
    """The connection breaks before anything was done; the process lives."""
    LOST = "answer lost"
    """It is done, and the connection breaks before the answer; the process lives."""
    FROZEN = "frozen"
    """The process stands still until others have taken over and finished, and then goes on."""
    OVERDUE = "overdue"
    """It stands still until its job's deadline has passed and others have finished; its lease never ends."""
    LATE = "answer late"
    """The call is done in time. Its answer comes when the deadline has passed and others have finished."""


DEADLY = frozenset({Fault.DEATH, Fault.DEATH_AFTER})
OUTRUNNING = frozenset({Fault.OVERDUE, Fault.LATE})
"""The process lives and renews its lease, and its job's deadline passes."""


class Died(BaseException):
    """The simulated process has ended; nothing of ours may catch it."""


@dataclass(frozen=True, slots=True)
class Boundary:
    """One crossing: what, which, and whether it changes anything that lasts by itself."""

    kind: Kind
    label: str
    durable: bool = True
    """Whether something outside the process has changed: by a commit, a statement alone, a call, a message."""
    unbound: bool = True
    """Whether no transaction is open at this moment, so that others may take the job over."""
    station: Station = Station.LOOP
    """Which part of the worker crosses it: the ledger loop, or what runs inside Celery's tracer."""


@dataclass(frozen=True, slots=True)
class Point:
    """What goes wrong where: at the `ordinal`-th boundary of the process itself, or of its calls to the outside."""

    outside: bool
    ordinal: int
    fault: Fault
    boundary: Boundary

    def __str__(self) -> str:
        """As the report names it."""
        return f"{self.fault.value} at {self.boundary.kind.value} {self.ordinal}: {self.boundary.label}"


@dataclass
class Watch:
    """Notes every crossing in order; at the given point it says what is to happen."""

    point: Point | None = None
    die: Callable[[], None] = lambda: None
    """Ends the process for good, or simulates it: then it cuts what the process had open."""
    stand_still: Callable[[], None] = lambda: None
    """Returns when the others have finished."""
    crossed: list[Boundary] = field(default_factory=list)
    dead: bool = False
    hit: Boundary | None = None
    resting: bool = False
    """While others run in this same process of the test, nothing is noted."""
    station: Station = Station.LOOP
    """Where the job is now."""
    _counts: dict[bool, int] = field(default_factory=lambda: {True: 0, False: 0})
    _lock: Lock = field(default_factory=Lock)

    def cross(self, boundary: Boundary) -> Fault | None:
        """Note a crossing, and say what is to happen at it."""
        outside = boundary.kind is Kind.CALL
        with self._lock:
            if self.dead:
                raise Died
            ordinal = self._counts[outside]
            self._counts[outside] += 1
            boundary = replace(boundary, station=self.station)
            self.crossed.append(boundary)
            if self.point is None or (outside, ordinal) != (self.point.outside, self.point.ordinal):
                return None
            self.hit = boundary
        return self.point.fault

    def end(self) -> None:
        """Let the process end here."""
        self.dead = True
        self.die()
        raise Died

    def let_others_finish(self) -> None:
        """Stand still until the others have taken over and finished."""
        self.resting = True
        try:
            self.stand_still()
        finally:
            self.resting = False


def points_of(crossed: Sequence[Boundary]) -> list[Point]:
    """Every point of a recorded run, in the order of the run."""
    counts = {True: 0, False: 0}
    points: list[Point] = []
    for boundary in crossed:
        outside = boundary.kind is Kind.CALL
        points += [Point(outside, counts[outside], fault, boundary) for fault in faults_of(boundary)]
        counts[outside] += 1
    if crossed:
        last = points[-1]
        points.append(Point(last.outside, last.ordinal, Fault.DEATH_AFTER, last.boundary))
    return list(dict.fromkeys(points))


def faults_of(boundary: Boundary) -> list[Fault]:
    """What can happen at a boundary."""
    faults = [Fault.DEATH, Fault.REFUSED]
    if boundary.durable:
        faults.append(Fault.LOST)
    if boundary.kind in {Kind.CALL, Kind.COMMIT}:
        faults.append(Fault.DEATH_AFTER)
    if boundary.kind is Kind.STATEMENT and boundary.unbound:
        faults += [Fault.FROZEN, Fault.OVERDUE]
    if boundary.kind is Kind.CALL:
        faults.append(Fault.LATE)
    return faults
