"""Injects the planned faults, restarts processes that end, and records what was done to which process or server."""

import heapq
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from pathlib import Path
from typing import TypeVar
from uuid import UUID

import psutil
import psycopg

from domain.jobs.queues import Queue
from sandbox.servers.waiting import wait_until
from storage.jobs import gates
from storage.jobs.gates import Gate
from storage.postgres.database import Database
from storage.postgres.execution import DatabaseUnavailable
from tests.chaos.chaos_fleet import ChaosFleet, Member
from tests.chaos.plan import KILLS, RESTARTS, WIPES, Fault, PlannedFault
from tests.chaos.recovery import Silence

LOOK_AGAIN_S = 0.1
HEAL_WITHIN_S = 30.0
TRICKLE_S = 1.0
"""Seconds between two bytes of an answer that trickles; the shortest answer has some ten."""

Subject = TypeVar("Subject")


@dataclass(frozen=True)
class InjectedFault:
    """A fault that was injected: when by the wall clock, on which subject, and which processes it silenced."""

    what: Fault
    at: datetime
    to: str
    silenced: tuple[int, ...] = ()
    note: str = ""


@dataclass
class FaultLog:
    """Every injected fault, in order."""

    done: list[InjectedFault] = field(default_factory=list)
    thawed: dict[tuple[str, datetime], datetime] = field(default_factory=dict)
    """When a freeze ended, by its subject and its beginning."""

    def count(self, kinds: frozenset[Fault] | Fault) -> int:
        """How many faults of one kind or of several."""
        wanted = {kinds} if isinstance(kinds, Fault) else kinds
        return sum(one.what in wanted for one in self.done)

    @property
    def kills(self) -> int:
        """Processes of the fleet that were killed; children that end with their worker are not counted."""
        return self.count(KILLS)

    @property
    def wipes(self) -> int:
        """How often the broker lost all its data."""
        return self.count(WIPES)

    @property
    def restarts(self) -> int:
        """How often PostgreSQL was restarted or crashed."""
        return self.count(RESTARTS)

    def counts(self) -> dict[str, int]:
        """How often each kind of fault was injected."""
        return dict(Counter(one.what.value for one in self.done))

    def silences(self) -> list[Silence]:
        """Which processes were killed or frozen, and when."""
        return [
            Silence(one.at, frozenset(one.silenced), self.thawed.get((one.to, one.at)))
            for one in self.done
            if one.silenced
        ]

    def write(self, path: Path) -> None:
        """Write the log as lines of JSON."""
        lines = (json.dumps(asdict(one) | {"at": one.at.isoformat()}) for one in self.done)
        path.write_text("".join(f"{line}\n" for line in lines))


class FaultInjector:
    """Injects faults, in one thread: while it restarts a server, later faults wait."""

    def __init__(self, fleet: ChaosFleet, orgs: Sequence[UUID], tell: Callable[[str], None]) -> None:
        """`tell` gets a line about each injected fault."""
        self.record = FaultLog()
        self._fleet = fleet
        self._orgs = orgs
        self._tell = tell
        self._database = Database(fleet.settings)
        self._agenda: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = count()

    def run(self, events: Sequence[PlannedFault], seconds: float) -> None:
        """Inject each fault at its time, restart processes until the seconds are over, then undo lasting faults."""
        began = time.monotonic()
        for event in events:
            self._schedule(event.at_s, partial(self._do, event, began))
        while (passed := time.monotonic() - began) < seconds or self._agenda:
            while self._agenda and self._agenda[0][0] <= passed:
                heapq.heappop(self._agenda)[2]()
            self._fleet.keep_up()
            threading.Event().wait(LOOK_AGAIN_S)
        self.heal()

    def heal(self) -> None:
        """End every fault that lasts: stalls, freezes, closed gates."""
        self._fleet.heal()
        wait_until(self._open_all_gates, within=HEAL_WITHIN_S, describe="the gates to be opened")
        self._database.dispose()

    def _open_all_gates(self) -> bool:
        try:
            with self._database.ledger() as tx:
                for gate in gates.closed(tx):
                    gates.open_gate(tx, gate.scope, gate.key)
        except DatabaseUnavailable:
            # The restarts of PostgreSQL have left closed connections in the pool.
            return False
        return True

    def _schedule(self, when: float, action: Callable[[], None]) -> None:
        heapq.heappush(self._agenda, (when, next(self._numbers), action))

    def _do(self, event: PlannedFault, began: float) -> None:
        now = time.monotonic() - began
        done = self._injections[event.what](self, event, now)
        if done is None:
            # There is no subject at the moment, for example no leader: try again in a second.
            self._schedule(now + 1.0, partial(self._do, event, began))
            return
        self.record.done.append(done)
        self._tell(f"{now:6.1f} s  {event.what.value}: {done.to}{done.note}")

    def _kill_worker(self, event: PlannedFault, _now: float) -> InjectedFault | None:
        return self._kill(event.what, choose(self._awake(), event.subject))

    def _kill_leader(self, event: PlannedFault, _now: float) -> InjectedFault | None:
        return self._kill(event.what, self._leader())

    def _kill_beat(self, event: PlannedFault, _now: float) -> InjectedFault | None:
        return self._kill(
            event.what, choose([beat for beat in self._fleet.beats if beat.process.running], event.subject)
        )

    def _kill(self, what: Fault, subject: Member | None) -> InjectedFault | None:
        if subject is None:
            return None
        pids = (subject.process.pid, *(child.pid for child in subject.children()))
        at = datetime.now(UTC)
        subject.kill()
        return InjectedFault(what, at, subject.name, pids)

    def _kill_child(self, event: PlannedFault, _now: float) -> InjectedFault | None:
        families = [(worker, child) for worker in self._awake() for child in worker.children() if is_running(child)]
        chosen = choose(families, event.subject)
        if chosen is None:
            return None
        worker, child = chosen
        at = datetime.now(UTC)
        try:
            child.kill()
        except psutil.NoSuchProcess:
            return None
        worker.lost_child()
        return InjectedFault(event.what, at, f"{worker.name}, child {child.pid}", (child.pid,))

    def _freeze_worker(self, event: PlannedFault, now: float) -> InjectedFault | None:
        return self._freeze(event, now, choose(self._awake(), event.subject))

    def _freeze_leader(self, event: PlannedFault, now: float) -> InjectedFault | None:
        return self._freeze(event, now, self._leader())

    def _freeze(self, event: PlannedFault, now: float, subject: Member | None) -> InjectedFault | None:
        if subject is None:
            return None
        pids = (subject.process.pid, *(child.pid for child in subject.children()))
        at = datetime.now(UTC)
        subject.process.freeze()
        subject.frozen = True
        self._schedule(now + event.lasts_s, partial(self._thaw, subject, at))
        return InjectedFault(event.what, at, subject.name, pids, f" for {event.lasts_s:.1f} s")

    def _thaw(self, subject: Member, since: datetime) -> None:
        if subject.frozen:
            self.record.thawed[subject.name, since] = datetime.now(UTC)
            subject.process.thaw()
            subject.frozen = False

    def _flush_broker(self, event: PlannedFault, _now: float) -> InjectedFault:
        self._fleet.broker.wipe()
        return InjectedFault(event.what, datetime.now(UTC), self._fleet.broker.name)

    def _restart_broker(self, event: PlannedFault, _now: float) -> InjectedFault:
        self._fleet.broker.restart_empty()
        return InjectedFault(event.what, datetime.now(UTC), self._fleet.broker.name)

    def _restart_postgres(self, event: PlannedFault, _now: float) -> InjectedFault:
        at = datetime.now(UTC)
        self._fleet.postgres.restart()
        return InjectedFault(event.what, at, "postgres", note=f" in {(datetime.now(UTC) - at).total_seconds():.1f} s")

    def _crash_postgres(self, event: PlannedFault, _now: float) -> InjectedFault:
        at = datetime.now(UTC)
        self._fleet.postgres.kill()
        self._fleet.postgres.start()
        return InjectedFault(event.what, at, "postgres", note=f" in {(datetime.now(UTC) - at).total_seconds():.1f} s")

    def _cut(self, event: PlannedFault, _now: float) -> InjectedFault:
        side = self._fleet.sides[event.subject % 2]
        proxy = side.database if event.what is Fault.CUT_DATABASE else side.broker
        return InjectedFault(
            event.what, datetime.now(UTC), f"side {event.subject % 2}", note=f", {proxy.cut()} connections"
        )

    def _stall(self, event: PlannedFault, now: float) -> InjectedFault:
        side = self._fleet.sides[event.subject % 2]
        proxy = side.database if event.what is Fault.STALL_DATABASE else side.broker
        proxy.stall()
        self._schedule(now + event.lasts_s, proxy.resume)
        note = f" for {event.lasts_s:.1f} s"
        return InjectedFault(event.what, datetime.now(UTC), f"side {event.subject % 2}", note=note)

    def _silence(self, event: PlannedFault, _now: float) -> InjectedFault:
        side = self._fleet.sides[event.subject % 2]
        proxy = side.database if event.what is Fault.SILENCE_DATABASE else side.broker
        note = f", {proxy.silence()} connections"
        return InjectedFault(event.what, datetime.now(UTC), f"side {event.subject % 2}", note=note)

    def _trickle(self, event: PlannedFault, now: float) -> InjectedFault:
        proxy = self._fleet.sides[event.subject % 2].database
        proxy.trickle(every_s=TRICKLE_S)
        self._schedule(now + event.lasts_s, partial(proxy.trickle, every_s=None))
        note = f" for {event.lasts_s:.1f} s"
        return InjectedFault(event.what, datetime.now(UTC), f"side {event.subject % 2}", note=note)

    def _close_gate(self, event: PlannedFault, _now: float) -> InjectedFault | None:
        scope, key = self._some_gate(event.subject)
        until = datetime.now(UTC) + timedelta(seconds=event.lasts_s)
        try:
            with self._database.ledger() as tx:
                gates.close(tx, Gate(scope, key, "chaos", until, "chaos"))
        except DatabaseUnavailable:
            return None
        return InjectedFault(event.what, datetime.now(UTC), f"{scope} {key}", note=f" for {event.lasts_s:.1f} s")

    def _some_gate(self, subject: int) -> tuple[str, str]:
        match subject % 3:
            case 0:
                return "org", str(choose(self._orgs, subject))
            case 1:
                return "queue", str(choose([queue.value for queue in Queue], subject))
        return "job_type", "chaos_jobs.noop"

    def _awake(self) -> list[Member]:
        return [worker for worker in self._fleet.workers if worker.process.running and not worker.frozen]

    def _leader(self) -> Member | None:
        try:
            leader = self._fleet.leader()
        except psycopg.OperationalError:
            return None
        return leader if leader is not None and not leader.frozen else None

    _injections: "dict[Fault, Callable[[FaultInjector, PlannedFault, float], InjectedFault | None]]" = {  # noqa: RUF012 - never changed
        Fault.KILL_WORKER: _kill_worker,
        Fault.KILL_CHILD: _kill_child,
        Fault.KILL_LEADER: _kill_leader,
        Fault.KILL_BEAT: _kill_beat,
        Fault.FREEZE_WORKER: _freeze_worker,
        Fault.FREEZE_LEADER: _freeze_leader,
        Fault.FLUSH_BROKER: _flush_broker,
        Fault.RESTART_BROKER: _restart_broker,
        Fault.RESTART_POSTGRES: _restart_postgres,
        Fault.CRASH_POSTGRES: _crash_postgres,
        Fault.CUT_DATABASE: _cut,
        Fault.CUT_BROKER: _cut,
        Fault.STALL_DATABASE: _stall,
        Fault.STALL_BROKER: _stall,
        Fault.SILENCE_DATABASE: _silence,
        Fault.SILENCE_BROKER: _silence,
        Fault.TRICKLE_DATABASE: _trickle,
        Fault.CLOSE_GATE: _close_gate,
    }


def is_running(process: psutil.Process) -> bool:
    """Whether the process runs; a zombie, which has ended and is not reaped yet, does not."""
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def choose(candidates: Sequence[Subject], number: int) -> Subject | None:
    """The candidate at `number` modulo their count; None without candidates."""
    return candidates[number % len(candidates)] if candidates else None
