"""Feeds the broker from the backlog: keeps each queue's window filled, by priority, and fairly between tenants."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

import structlog

from domain.jobs.queues import Queue
from domain.jobs.scheduling.backlog_demand import BacklogKey, OutstandingDemand, interleave, message_size
from domain.jobs.scheduling.fairness import HintWindow, OrgTurn, PriorityTurn, Tenant, adapt, offer, share
from engine.relay.broker import Broker, BrokerAway
from engine.runtime import Runtime
from storage.jobs import relay

log = structlog.get_logger(__name__)

QUEUES = tuple(queue.value for queue in Queue)

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
"""How often the broker is looked at while there is no backlog: producers may flood it, and only the relay sees that."""

LINGER_S = 1.0
"""How long the relay stays awake after the last backlog: enqueues for a tenant over its burst do not wake it."""

LOOK_OVER_BURST_S = 0.25
"""How often a full window is searched for tenants that fill it call by call."""

NEWEST = 2000
"""How many of the fleet's newest jobs that search looks at."""

WINDOW_CAP = 10_000
"""Hints of one queue that the broker may hold at most: what a lost broker or a sudden stop leaves behind."""

FIRST_ID = UUID(int=0)

Quotas = Mapping[UUID, int]
"""How many jobs of each org are next."""


@dataclass
class QueueState:
    """What the publisher remembers of one queue."""

    window: HintWindow = field(default_factory=HintWindow)
    left: int = 0
    """Hints that were in the broker after the last turn; each job that demand allows to claim is one."""
    messages: int = 0
    """The messages that they were in."""
    turns: dict[int, OrgTurn] = field(default_factory=dict)
    """Whose turn it is at each priority."""
    demand: OutstandingDemand = field(default_factory=OutstandingDemand)
    emptied: bool = False
    """Whether the last look found nothing left of what had been published."""
    full: bool = False
    searched_at: float = 0.0
    lower: PriorityTurn = field(default_factory=PriorityTurn)
    """Whose turn it is among the lower priorities."""

    def look(self, messages: int, *, seconds: float) -> int:
        """How many hints the broker holds by that many messages; adapts the window to what was taken since.

        A message is taken to hold as many as the average of those that were left.
        """
        depth = round(messages * self.left / self.messages) if self.messages else messages
        self.emptied = self.left > 0 and not depth
        self.window = adapt(self.window, taken=max(self.left - depth, 0), depth=depth, seconds=seconds, cap=WINDOW_CAP)
        self.left, self.messages = depth, messages
        return depth

    @property
    def plenty(self) -> bool:
        """Whether the workers cannot empty the window soon."""
        return self.left >= max(PLENTY, self.window.pace * 2 * CALM_S)

    def published(self, jobs: int, messages: int) -> None:
        """Note what went out."""
        self.left += jobs
        self.messages += messages


class BacklogPublisher:
    """Part of the leading relay."""

    def __init__(self, runtime: Runtime, broker: Broker) -> None:
        """Begin with the smallest windows."""
        self._runtime = runtime
        self._broker = broker
        self._states = {queue: QueueState() for queue in QUEUES}
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
        except BrokerAway:
            return IDLE_S
        now = time.monotonic()
        seconds, self._looked_at = now - self._looked_at, now
        with self._runtime.database.statements() as tx:
            backlog = relay.backlog(tx, QUEUES)
        for queue, state in self._states.items():
            depth = state.look(messages[queue], seconds=seconds)
            state.demand.look(messages[queue], now)
            self._fill(queue, state, backlog.get(queue, ()))
            self._watch_producers(queue, state, depth, now)
        return self._pause(backlog, now)

    def _fill(self, queue: str, state: QueueState, priorities: Sequence[int]) -> None:
        def take(priority: int, most: int) -> int:
            return self._fill_level(queue, state, priority, most)

        state.lower = offer(state.window.room(state.left), priorities, state.lower, take)

    def _fill_level(self, queue: str, state: QueueState, priority: int, room: int) -> int:
        """Send demand for jobs of one priority; returns for how many."""
        filled, moved = 0, room
        while filled < room and moved:
            moved = self._move(queue, state, priority, room - filled)
            filled += moved
        return filled

    def _move(self, queue: str, state: QueueState, priority: int, room: int) -> int:
        turn = state.turns.get(priority)
        with self._runtime.database.statements() as tx:
            tenants = relay.waiting_tenants(
                tx, queue, priority, start=turn.org_id if turn else FIRST_ID, most=MOST_TENANTS
            )
        quotas, next_turn = share(room, tenants, turn)
        if not tenants or next_turn is None:
            return 0
        state.turns[priority] = next_turn
        return self._publish(queue, state, priority, tenants, quotas)

    def _publish(self, queue: str, state: QueueState, priority: int, tenants: Sequence[Tenant], quotas: Quotas) -> int:
        """Send demand for as many of these jobs as there are; returns for how many."""
        wanted = {BacklogKey(queue, priority, org_id): quota for org_id, quota in quotas.items() if quota}
        uncounted = state.demand.uncounted(wanted)
        if uncounted:
            with self._runtime.database.statements() as tx:
                state.demand.counted(relay.count_backlog(tx, uncounted))
        demand = state.demand.take(wanted)
        weights = {tenant.org_id: tenant.weight for tenant in tenants}
        parts = list(interleave(demand, weights, message_size(state.window.size)))
        self._runtime.publisher.publish_demand(queue, parts)
        for part in parts:
            state.demand.sent(part, self._looked_at)
        total = sum(demand.values())
        state.published(total, len(parts))
        return total

    def _watch_producers(self, queue: str, state: QueueState, depth: int, now: float) -> None:
        """Close the queue to enqueues when they have published more than their share of what the broker may hold."""
        burst = self._runtime.settings.burst
        full = depth > state.window.size if state.full else state.window.overflows(depth, burst)
        if full != state.full:
            with self._runtime.database.statements() as tx:
                relay.close_queue(tx, queue) if full else relay.open_queue(tx, queue)
            state.full = full
        if depth > max(state.window.size, burst) and now - state.searched_at >= LOOK_OVER_BURST_S:
            state.searched_at = now
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
        states = [self._states[queue] for queue in backlog]
        if any(state.emptied for state in states):
            return EAGER_S
        return CALM_S if states and all(state.plenty for state in states) else BUSY_S
