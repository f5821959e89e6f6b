"""Carries out the plan's mischief, keeps the fleet up meanwhile, and writes down what was really done to whom."""

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
from storage.ledger import gates
from storage.ledger.gates import Gate
from storage.postgres.database import Database
from storage.postgres.execution import DatabaseUnavailable
from tests.chaos.chaos_fleet import ChaosFleet, Member
from tests.chaos.plan import KILLS, RESTARTS, WIPES, Event, Mischief
from tests.chaos.recovery import Silence

LOOK_AGAIN_S = 0.1
HEAL_WITHIN_S = 30.0

Victim = TypeVar("Victim")


@dataclass(frozen=True)
class Done:
    """One piece of mischief that was carried out: when by the wall clock, on whom, and which processes fell silent."""

    what: Mischief
    at: datetime
    to: str
    silenced: tuple[int, ...] = ()
    note: str = ""


@dataclass
class Record:
    """Everything that was done, in order."""

    done: list[Done] = field(default_factory=list)
    thawed: dict[tuple[str, datetime], datetime] = field(default_factory=dict)
    """When a freeze ended, by its victim and its beginning."""

    def count(self, kinds: frozenset[Mischief] | Mischief) -> int:
        """How many of some kinds."""
        wanted = {kinds} if isinstance(kinds, Mischief) else kinds
        return sum(one.what in wanted for one in self.done)

    @property
    def kills(self) -> int:
        """Processes of the fleet that were killed (a worker's children that follow it are not counted)."""
        return self.count(KILLS)

    @property
    def wipes(self) -> int:
        """How often the broker lost all it held."""
        return self.count(WIPES)

    @property
    def restarts(self) -> int:
        """How often PostgreSQL went away and came back."""
        return self.count(RESTARTS)

    def counts(self) -> dict[str, int]:
        """How often each kind was done."""
        return dict(Counter(one.what.value for one in self.done))

    def silences(self) -> list[Silence]:
        """When processes fell silent, killed or frozen, and which."""
        return [
            Silence(one.at, frozenset(one.silenced), self.thawed.get((one.to, one.at)))
            for one in self.done
            if one.silenced
        ]

    def write(self, path: Path) -> None:
        """Keep it as lines of JSON."""
        lines = (json.dumps(asdict(one) | {"at": one.at.isoformat()}) for one in self.done)
        path.write_text("".join(f"{line}\n" for line in lines))


class Imp:
    """Does the mischief. One thread: while it restarts a server, other mischief waits."""

    def __init__(self, fleet: ChaosFleet, orgs: Sequence[UUID], tell: Callable[[str], None]) -> None:
        """Work on this fleet; `tell` hears a line about each deed."""
        self.record = Record()
        self._fleet = fleet
        self._orgs = orgs
        self._tell = tell
        self._database = Database(fleet.settings)
        self._agenda: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = count()

    def run(self, events: Sequence[Event], seconds: float) -> None:
        """Do all of it at its time, and go on keeping the fleet up until the seconds are over; then heal everything."""
        began = time.monotonic()
        for event in events:
            self._at(event.at_s, partial(self._do, event, began))
        while (passed := time.monotonic() - began) < seconds or self._agenda:
            while self._agenda and self._agenda[0][0] <= passed:
                heapq.heappop(self._agenda)[2]()
            self._fleet.keep_up()
            threading.Event().wait(LOOK_AGAIN_S)
        self.heal()

    def heal(self) -> None:
        """End what lasts: stalls, freezes, gates."""
        self._fleet.heal()
        wait_until(self._open_all_gates, within=HEAL_WITHIN_S, describe="the gates to be opened")
        self._database.dispose()

    def _open_all_gates(self) -> bool:
        try:
            with self._database.ledger() as tx:
                for gate in gates.closed(tx):
                    gates.open_gate(tx, gate.scope, gate.key)
        except DatabaseUnavailable:
            # The restarts have left dead connections in the pool.
            return False
        return True

    def _at(self, when: float, deed: Callable[[], None]) -> None:
        heapq.heappush(self._agenda, (when, next(self._numbers), deed))

    def _do(self, event: Event, began: float) -> None:
        now = time.monotonic() - began
        done = self._deeds[event.what](self, event, now)
        if done is None:
            # Nobody to do it to at the moment (no leader, no child): it must happen all the same.
            self._at(now + 1.0, partial(self._do, event, began))
            return
        self.record.done.append(done)
        self._tell(f"{now:6.1f} s  {event.what.value}: {done.to}{done.note}")

    def _kill_worker(self, event: Event, _now: float) -> Done | None:
        return self._kill(event.what, pick(self._awake(), event.victim))

    def _kill_leader(self, event: Event, _now: float) -> Done | None:
        return self._kill(event.what, self._leader())

    def _kill_beat(self, event: Event, _now: float) -> Done | None:
        return self._kill(event.what, pick([beat for beat in self._fleet.beats if beat.process.running], event.victim))

    def _kill(self, what: Mischief, victim: Member | None) -> Done | None:
        if victim is None:
            return None
        pids = (victim.process.pid, *(child.pid for child in victim.children()))
        at = datetime.now(UTC)
        victim.kill()
        return Done(what, at, victim.name, pids)

    def _kill_child(self, event: Event, _now: float) -> Done | None:
        families = [(worker, child) for worker in self._awake() for child in worker.children() if lives(child)]
        chosen = pick(families, event.victim)
        if chosen is None:
            return None
        worker, child = chosen
        at = datetime.now(UTC)
        try:
            child.kill()
        except psutil.NoSuchProcess:
            return None
        worker.lost_child()
        return Done(event.what, at, f"{worker.name}, child {child.pid}", (child.pid,))

    def _freeze_worker(self, event: Event, now: float) -> Done | None:
        return self._freeze(event, now, pick(self._awake(), event.victim))

    def _freeze_leader(self, event: Event, now: float) -> Done | None:
        return self._freeze(event, now, self._leader())

    def _freeze(self, event: Event, now: float, victim: Member | None) -> Done | None:
        if victim is None:
            return None
        pids = (victim.process.pid, *(child.pid for child in victim.children()))
        at = datetime.now(UTC)
        victim.process.freeze()
        victim.frozen = True
        self._at(now + event.lasts_s, partial(self._thaw, victim, at))
        return Done(event.what, at, victim.name, pids, f" for {event.lasts_s:.1f} s")

    def _thaw(self, victim: Member, since: datetime) -> None:
        if victim.frozen:
            self.record.thawed[victim.name, since] = datetime.now(UTC)
            victim.process.thaw()
            victim.frozen = False

    def _flush_broker(self, event: Event, _now: float) -> Done:
        self._fleet.broker.wipe()
        return Done(event.what, datetime.now(UTC), self._fleet.broker.name)

    def _restart_broker(self, event: Event, _now: float) -> Done:
        self._fleet.broker.restart_empty()
        return Done(event.what, datetime.now(UTC), self._fleet.broker.name)

    def _restart_postgres(self, event: Event, _now: float) -> Done:
        at = datetime.now(UTC)
        self._fleet.postgres.restart()
        return Done(event.what, at, "postgres", note=f" in {(datetime.now(UTC) - at).total_seconds():.1f} s")

    def _crash_postgres(self, event: Event, _now: float) -> Done:
        at = datetime.now(UTC)
        self._fleet.postgres.kill()
        self._fleet.postgres.start()
        return Done(event.what, at, "postgres", note=f" in {(datetime.now(UTC) - at).total_seconds():.1f} s")

    def _cut(self, event: Event, _now: float) -> Done:
        side = self._fleet.sides[event.victim % 2]
        proxy = side.database if event.what is Mischief.CUT_DATABASE else side.broker
        return Done(event.what, datetime.now(UTC), f"side {event.victim % 2}", note=f", {proxy.cut()} connections")

    def _stall(self, event: Event, now: float) -> Done:
        side = self._fleet.sides[event.victim % 2]
        proxy = side.database if event.what is Mischief.STALL_DATABASE else side.broker
        proxy.stall()
        self._at(now + event.lasts_s, proxy.resume)
        note = f" for {event.lasts_s:.1f} s"
        return Done(event.what, datetime.now(UTC), f"side {event.victim % 2}", note=note)

    def _close_gate(self, event: Event, _now: float) -> Done | None:
        scope, key = self._some_gate(event.victim)
        until = datetime.now(UTC) + timedelta(seconds=event.lasts_s)
        try:
            with self._database.ledger() as tx:
                gates.close(tx, Gate(scope, key, "chaos", until, "chaos"))
        except DatabaseUnavailable:
            return None
        return Done(event.what, datetime.now(UTC), f"{scope} {key}", note=f" for {event.lasts_s:.1f} s")

    def _some_gate(self, victim: int) -> tuple[str, str]:
        match victim % 3:
            case 0:
                return "org", str(pick(self._orgs, victim))
            case 1:
                return "queue", str(pick([queue.value for queue in Queue], victim))
        return "job_type", "chaos_jobs.noop"

    def _awake(self) -> list[Member]:
        return [worker for worker in self._fleet.workers if worker.process.running and not worker.frozen]

    def _leader(self) -> Member | None:
        try:
            leader = self._fleet.leader()
        except psycopg.OperationalError:
            return None
        return leader if leader is not None and not leader.frozen else None

    _deeds: "dict[Mischief, Callable[[Imp, Event, float], Done | None]]" = {  # noqa: RUF012 - never changed
        Mischief.KILL_WORKER: _kill_worker,
        Mischief.KILL_CHILD: _kill_child,
        Mischief.KILL_LEADER: _kill_leader,
        Mischief.KILL_BEAT: _kill_beat,
        Mischief.FREEZE_WORKER: _freeze_worker,
        Mischief.FREEZE_LEADER: _freeze_leader,
        Mischief.FLUSH_BROKER: _flush_broker,
        Mischief.RESTART_BROKER: _restart_broker,
        Mischief.RESTART_POSTGRES: _restart_postgres,
        Mischief.CRASH_POSTGRES: _crash_postgres,
        Mischief.CUT_DATABASE: _cut,
        Mischief.CUT_BROKER: _cut,
        Mischief.STALL_DATABASE: _stall,
        Mischief.STALL_BROKER: _stall,
        Mischief.CLOSE_GATE: _close_gate,
    }


def lives(process: psutil.Process) -> bool:
    """Whether it is there to be killed; one that died and is not buried yet is not."""
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def pick(candidates: Sequence[Victim], number: int) -> Victim | None:
    """The candidate that a number means; None when there is none."""
    return candidates[number % len(candidates)] if candidates else None
