"""Feeds the broker from the backlog: keeps each queue's window filled, by priority, and fairly between tenants."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from math import ceil
from operator import attrgetter
from uuid import UUID

import structlog

from domain.jobs.queues import Queue
from domain.scheduling.backlog_demand import Ticket, TicketBook, deal, hand_size
from domain.scheduling.fairness import Tenant, Turn, Window, adapt, share
from engine.process.hints import bundles
from engine.process.runtime import Runtime
from engine.relay.broker import Broker, BrokerAway
from storage.ledger import relay
from storage.ledger.relay import Level

log = structlog.get_logger(__name__)

QUEUES = tuple(queue.value for queue in Queue)

BATCH = 1000
"""Jobs per statement: large enough to keep up, small enough never to hold locks for long. Tickets lock nothing."""

MOST_TENANTS = 500
"""Tenants that one look at a backlog names; the next look goes on after them."""

BUSY_S = 0.025
"""How often the windows are filled while there is a backlog; the smallest window must not run dry meanwhile."""

EAGER_S = 0.005
"""How often, while workers empty a window before they are looked at: it has just doubled, and is still too small."""

CALM_S = 0.1
"""How often, while each window holds `PLENTY` and what workers take in more than twice that time."""

PLENTY = 256
"""Hints that a window must hold for that; a smaller one may be emptied at once by jobs that turn out short."""

IDLE_S = 0.2
"""How often the broker is looked at while there is no backlog: doors may flood it, and only the relay sees that."""

LINGER_S = 1.0
"""How long the relay stays awake after the last backlog: enqueues for a tenant over its burst do not wake it."""

LOOK_OVER_BURST_S = 0.25
"""How often a full window is searched for tenants that fill it call by call."""

NEWEST = 2000
"""How many of the fleet's newest jobs that search looks at."""

FIRST_ID = UUID(int=0)

Quotas = Mapping[UUID, int]
"""How many jobs of each org are next."""


@dataclass
class Lane:
    """What the feeder remembers of one queue."""

    window: Window = field(default_factory=Window)
    left: int = 0
    """Hints that were in the broker after the last turn."""
    bundled: float = 1.0
    """Hints per message, averaged over what was published."""
    turns: dict[Level, Turn] = field(default_factory=dict)
    """Whose turn it is at each level."""
    book: TicketBook = field(default_factory=TicketBook)
    emptied: bool = False
    """Whether the last look found nothing left of what had been published."""
    full: bool = False
    searched_at: float = 0.0

    def look(self, messages: int, *, seconds: float, cap: int) -> int:
        """How many hints the broker holds by that many messages; adapts the window to what was taken since."""
        depth = round(messages * self.bundled)
        self.emptied = self.left > 0 and not depth
        self.window = adapt(self.window, taken=max(self.left - depth, 0), depth=depth, seconds=seconds, cap=cap)
        self.left = depth
        return depth

    @property
    def plenty(self) -> bool:
        """Whether the workers cannot empty the window soon."""
        return self.left >= max(PLENTY, self.window.pace * 2 * CALM_S)

    def published(self, jobs: int, messages: int) -> None:
        """Note what went out."""
        if messages:
            self.left += jobs
            self.bundled += 0.2 * (jobs / messages - self.bundled)


class Feeder:
    """Part of the leading relay."""

    def __init__(self, runtime: Runtime, broker: Broker) -> None:
        """Begin with the smallest windows."""
        self._runtime = runtime
        self._broker = broker
        self._lanes = {queue: Lane() for queue in QUEUES}
        self._looked_at = time.monotonic()
        self._awake_until = 0.0
        self._cleared_at = 0.0

    def begin(self) -> None:
        """Open the queues that another leader closed; the first turns see whether they are full."""
        with self._runtime.database.statements() as tx:
            for queue in QUEUES:
                relay.open_queue(tx, queue)

    def turn(self) -> float:
        """Fill every window once; returns in how many seconds to do it again."""
        try:
            messages = self._broker.depths(QUEUES)
        except BrokerAway as away:
            log.warning("broker_unavailable", error=str(away))
            return IDLE_S
        now = time.monotonic()
        seconds, self._looked_at = now - self._looked_at, now
        with self._runtime.database.statements() as tx:
            backlog = relay.backlog(tx, QUEUES)
        for queue, lane in self._lanes.items():
            depth = lane.look(messages[queue], seconds=seconds, cap=self._runtime.settings.window_cap)
            lane.book.look(messages[queue], now)
            self._fill(queue, lane, backlog.get(queue, ()))
            self._watch_doors(queue, lane, depth, now)
        return self._pause(backlog, now)

    def _fill(self, queue: str, lane: Lane, levels: Sequence[Level]) -> None:
        room = lane.window.room(lane.left)
        for _, kinds in groupby(levels, key=attrgetter("priority")):
            alike = list(kinds)
            moved = room
            while room > 0 and moved:
                moved = 0
                for index, level in enumerate(alike):
                    # Ordinary and light jobs of one priority have half of the room each, and what the other leaves.
                    moved += self._move(queue, lane, level, ceil((room - moved) / (len(alike) - index)))
                room -= moved

    def _move(self, queue: str, lane: Lane, level: Level, room: int) -> int:
        turn = lane.turns.get(level)
        with self._runtime.database.statements() as tx:
            tenants = relay.waiting_tenants(
                tx, queue, level, start=turn.org_id if turn else FIRST_ID, most=MOST_TENANTS
            )
        quotas, next_turn = share(room if level.light else min(room, BATCH), tenants, turn)
        if not tenants or next_turn is None:
            return 0
        lane.turns[level] = next_turn
        return (self._give_tickets if level.light else self._publish)(queue, lane, level.priority, tenants, quotas)

    def _publish(self, queue: str, lane: Lane, priority: int, tenants: Sequence[Tenant], quotas: Quotas) -> int:
        with self._runtime.database.statements() as tx:
            due = relay.publish_backlog(
                tx, queue, priority, tenants=tenants, quotas=quotas, patience=self._runtime.patience
            )
        self._runtime.publisher.publish(due.hints)
        lane.published(len(due.hints), sum(1 for _ in bundles(due.hints)))
        # Jobs that a gate has parked took no room, but looking at them was work: they count, so that a turn ends.
        return due.moved

    def _give_tickets(self, queue: str, lane: Lane, priority: int, tenants: Sequence[Tenant], quotas: Quotas) -> int:
        wanted = {Ticket(queue, priority, org_id): quota for org_id, quota in quotas.items() if quota}
        uncounted = lane.book.uncounted(wanted)
        if uncounted:
            with self._runtime.database.statements() as tx:
                lane.book.counted(relay.count_light_backlog(tx, uncounted))
        tickets = lane.book.take(wanted)
        hands = list(deal(tickets, {tenant.org_id: tenant.weight for tenant in tenants}, hand_size(lane.window.size)))
        self._runtime.publisher.publish_tickets(queue, hands)
        for hand in hands:
            lane.book.given(hand, self._looked_at)
        given = sum(tickets.values())
        lane.published(given, len(hands))
        return given

    def _watch_doors(self, queue: str, lane: Lane, depth: int, now: float) -> None:
        """Tell the doors when they have published more than their share of what the broker may hold."""
        burst = self._runtime.settings.burst
        full = depth > lane.window.size if lane.full else lane.window.overflows(depth, burst)
        if full != lane.full:
            with self._runtime.database.statements() as tx:
                relay.close_queue(tx, queue) if full else relay.open_queue(tx, queue)
            lane.full = full
        if depth > max(lane.window.size, burst) and now - lane.searched_at >= LOOK_OVER_BURST_S:
            lane.searched_at = now
            with self._runtime.database.statements() as tx:
                marked = relay.mark_over_burst(tx, queue, burst=burst, newest=NEWEST)
            if marked:
                log.info("tenants_over_burst", queue=queue, tenants=marked)

    def _pause(self, backlog: relay.Backlog, now: float) -> float:
        if backlog:
            self._awake_until = now + LINGER_S
        if now - self._cleared_at >= LINGER_S:
            self._cleared_at = now
            with self._runtime.database.statements() as tx:
                relay.clear_over_burst(tx, backlog)
        if now >= self._awake_until:
            return IDLE_S
        lanes = [self._lanes[queue] for queue in backlog]
        if any(lane.emptied for lane in lanes):
            return EAGER_S
        return CALM_S if lanes and all(lane.plenty for lane in lanes) else BUSY_S
