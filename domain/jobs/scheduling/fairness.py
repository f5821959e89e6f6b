"""How many hints of a queue the broker holds, and how tenants share them: arithmetic only."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from uuid import UUID

AHEAD_S = 0.5
"""A window holds what the workers take in this time, so that a new job behind a full window waits no longer."""

AVERAGED_S = 1.0
"""Over how long the workers' pace is averaged: a process that claims much at once is not faster for it."""

SOONEST_S = 0.001
"""Nobody looks twice within this time; a shorter one is the clock's."""

SMALLEST_WINDOW = 8
"""Hints that a window holds at least. Few, because each may be a job of minutes that a new tenant's job must wait for;
several, because workers take their next hint from here while the relay looks away."""


@dataclass(frozen=True, slots=True)
class HintWindow:
    """How many hints of one queue the broker may hold."""

    size: int = SMALLEST_WINDOW
    pace: float = 0.0
    """Hints per second that workers take, averaged."""

    def room(self, depth: int) -> int:
        """How many more hints the broker may hold."""
        return max(self.size - depth, 0)

    def overflows(self, depth: int, burst: int) -> bool:
        """Whether so many hints lie in the broker that even tenants under their burst must wait for the relay."""
        return depth > 2 * max(self.size, burst)


def adapt(window: HintWindow, *, taken: int, depth: int, seconds: float, cap: int) -> HintWindow:
    """The window after workers took `taken` hints in so many seconds and left `depth` in the broker.

    It follows the workers' pace, between `SMALLEST_WINDOW` and `cap`. Where they have emptied it, the pace is what
    the window allowed and not what they could do, so it doubles; where it is too large, it is halved until it fits.
    """
    seconds = max(seconds, SOONEST_S)
    share = 1 - math.exp(-seconds / AVERAGED_S)
    pace = window.pace + share * (taken / seconds - window.pace)
    fitting = math.ceil(pace * AHEAD_S)
    emptied = taken > 0 and depth <= window.size // 4
    size = max(fitting, 2 * window.size if emptied else window.size // 2)
    return HintWindow(min(max(size, SMALLEST_WINDOW), max(cap, SMALLEST_WINDOW)), pace)


LOWER_SHARE = 1 / 8
"""Of a window, for the priorities below the highest that waits. They have it in turns, so that a flood of urgent jobs
delays no other for good, however many priorities wait."""

Take = Callable[[int, int], int]
"""Offers a priority so many hints of the room; returns how many it took."""


@dataclass(frozen=True, slots=True)
class PriorityTurn:
    """What the lower priorities are owed, less than one hint, and which of them had the last one."""

    owed: float = 0.0
    last: int | None = None


def offer(room: int, priorities: Sequence[int], turn: PriorityTurn, take: Take) -> PriorityTurn:
    """Offer a room to the priorities that wait, the highest first; returns whose turn it is then.

    The lower ones have their share one after another, over several rooms if one is small. What nobody takes of it goes
    by priority.
    """
    if not priorities:
        return turn
    highest, *lower = priorities
    owed = turn.owed + room * LOWER_SHARE if lower else turn.owed
    kept = int(owed)
    owed, last = owed - kept, turn.last
    room -= take(highest, room - kept)
    for place, priority in enumerate(_after(turn.last, lower)):
        taken = take(priority, math.ceil(kept / (len(lower) - place))) if kept else 0
        room, kept, last = room - taken, kept - taken, priority if taken else last
    for priority in priorities:
        room -= take(priority, room) if room else 0
    return PriorityTurn(owed, last)


def _after(last: int | None, priorities: Sequence[int]) -> list[int]:
    """The priorities in turns: those below the last one, then the others."""
    if last is None:
        return list(priorities)
    return [one for one in priorities if one < last] + [one for one in priorities if one >= last]


@dataclass(frozen=True, slots=True)
class Tenant:
    """An org that has jobs waiting, and its weight: its jobs per round."""

    org_id: UUID
    weight: int = 1


@dataclass(frozen=True, slots=True)
class OrgTurn:
    """Whose turn it is, and how much of its weight it has used in this round."""

    org_id: UUID
    used: int


def share(budget: int, tenants: Sequence[Tenant], turn: OrgTurn | None) -> tuple[dict[UUID, int], OrgTurn | None]:
    """How many jobs of each tenant are next, and whose turn it is afterwards; weighted round robin.

    The tenants are in the order of their turns, beginning with the one whose turn it is. The quotas sum up to the
    budget; over the rounds each tenant gets its weight, however small the budgets are.
    """
    quotas = dict.fromkeys((tenant.org_id for tenant in tenants), 0)
    if not tenants or budget <= 0:
        return quotas, turn
    used = {turn.org_id: turn.used} if turn else {}
    left, turn = _one_round(budget, tenants, used, quotas, turn)
    rounds, left = divmod(left, sum(tenant.weight for tenant in tenants))
    for tenant in tenants:
        quotas[tenant.org_id] += rounds * tenant.weight
    _, turn = _one_round(left, tenants, {}, quotas, turn)
    return quotas, turn


def _one_round(
    budget: int, tenants: Sequence[Tenant], used: dict[UUID, int], quotas: dict[UUID, int], turn: OrgTurn | None
) -> tuple[int, OrgTurn | None]:
    for tenant in tenants:
        before = used.get(tenant.org_id, 0)
        given = min(max(tenant.weight - before, 0), budget)
        if given:
            quotas[tenant.org_id] += given
            budget -= given
            turn = OrgTurn(tenant.org_id, before + given)
        if not budget:
            break
    return budget, turn
