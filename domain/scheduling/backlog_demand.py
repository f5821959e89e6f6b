"""Tickets: what the broker carries of a backlog of light jobs. Arithmetic only.

A hint names a job, which must be marked as published. A ticket names an org's backlog: who holds it claims the oldest
light job there. It costs the ledger nothing and is worth nothing: one too many finds no job, a lost one is given again.
"""

from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from domain.scheduling.fairness import AHEAD_S

COUNTED_AHEAD = 4
"""A backlog is counted up to so many times of what is wanted: then a long one need not be counted each time."""

FEWEST, HAND = 64, 256
"""Tickets in one message: few enough that several workers share a window, and a fourth of what one statement claims.
To open a message costs as much as a light job."""

HANDS = 64
"""Messages that a window should hold before they get fuller: many more than processes, which take one at a time."""


class Ticket(NamedTuple):
    """The right to claim one light job of an org from the backlog of a queue at one priority."""

    queue: str
    priority: int
    org_id: UUID


Tickets = Mapping[Ticket, int]
"""How many of each."""

Floors = Mapping[Ticket, datetime]
"""Since when the youngest job waited that was drawn from each backlog; what is older has gone."""

FLOORS_HOLD_S = 0.25
"""How long a process relies on floors: a job that was committed late, or came back, may wait below one meanwhile."""


@dataclass
class Sounding:
    """How far a process has drawn from each backlog: an index keeps the entries of what has gone until a vacuum."""

    floors: dict[Ticket, datetime] = field(default_factory=dict)
    _forgot_at: float = 0.0

    def learn(self, drawn: Floors, now: float) -> None:
        """Take it in how far a claim has drawn; every `FLOORS_HOLD_S` all is forgotten."""
        if now - self._forgot_at >= FLOORS_HOLD_S:
            self._forgot_at = now
            self.floors.clear()
        else:
            self.floors.update(drawn)


@dataclass
class TicketBook:
    """What the relay has given of one queue's backlogs, and how much is left to give."""

    _given: deque[tuple[float, Tickets]] = field(default_factory=deque)
    """By message, the oldest first, with its time."""
    _out: Counter[Ticket] = field(default_factory=Counter)
    _left: dict[Ticket, int] = field(default_factory=dict)

    def look(self, messages: int, now: float) -> None:
        """Take it in that the broker holds so many messages of the queue: what was given before those is used.

        Other messages are among them, so that age counts too: a window holds what is taken in `AHEAD_S`.
        """
        while self._given and (len(self._given) > messages or self._given[0][0] < now - AHEAD_S):
            self._out -= Counter(self._given.popleft()[1])

    def uncounted(self, wanted: Tickets) -> Tickets:
        """Which backlogs must be counted before so many tickets can be given, and up to how many jobs."""
        return {
            ticket: COUNTED_AHEAD * (count + self._out[ticket])
            for ticket, count in wanted.items()
            if count > self._left.get(ticket, 0)
        }

    def counted(self, jobs: Tickets) -> None:
        """Take it in how many jobs wait; those that tickets are out for are not there for others."""
        for ticket, count in jobs.items():
            self._left[ticket] = max(count - self._out[ticket], 0)

    def take(self, wanted: Tickets) -> Tickets:
        """As many of the wanted tickets as there are jobs left for."""
        taken = {}
        for ticket, count in wanted.items():
            left = self._left.pop(ticket, 0)
            if given := min(count, left):
                taken[ticket] = given
            if left > given:
                self._left[ticket] = left - given
        return taken

    def given(self, tickets: Tickets, now: float) -> None:
        """Note what went out in one message."""
        self._given.append((now, tickets))
        self._out.update(tickets)


def hand_size(window: int) -> int:
    """How many tickets a message carries while the broker may hold so many: a fleet's pace makes its windows large."""
    return min(max(window // HANDS, FEWEST), HAND)


def deal(tickets: Tickets, weights: Mapping[UUID, int], size: int) -> Iterator[Tickets]:
    """The tickets of each message, `size` at most: the orgs take turns by weight, in the given order."""
    kinds = list(tickets)
    if len(kinds) == 1:  # one tenant's flood, where every microsecond counts
        count = tickets[kinds[0]]
        yield from ({kinds[0]: min(size, count - start)} for start in range(0, count, size))
        return
    turns = sorted(
        (place // weights[ticket.org_id], kind)
        for kind, (ticket, count) in enumerate(tickets.items())
        for place in range(count)
    )
    for start in range(0, len(turns), size):
        hand = Counter(kind for _, kind in turns[start : start + size])
        yield {kinds[kind]: count for kind, count in hand.items()}
