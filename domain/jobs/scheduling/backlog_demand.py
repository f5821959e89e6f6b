"""How many jobs workers may claim from each backlog: the relay's demand, and where claims begin. Arithmetic only.

A hint names one published job. Demand names backlog keys with a number each: the worker that receives it claims so many
of the oldest jobs there. Nothing is written for it: demand beyond the jobs finds none, lost demand is sent again.
"""

from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from domain.jobs.scheduling.fairness import AHEAD_S

COUNTED_AHEAD = 4
"""A backlog is counted up to this multiple of the wanted number, so that a long backlog is not counted each time."""

LARGEST_MESSAGE = 256
"""Claims per message, at most: a fourth of what one statement claims."""

MESSAGES_PER_WINDOW = 64
"""Messages that a window should hold before they get fuller: many more than processes, which take one at a time."""


class BacklogKey(NamedTuple):
    """One line of waiting jobs: those of an org in a queue at one priority."""

    queue: str
    priority: int
    org_id: UUID


Demand = Mapping[BacklogKey, int]
"""Jobs per backlog key."""

Cursors = Mapping[BacklogKey, datetime]
"""Per backlog key: `backlog_since` of the newest job claimed so far."""

CURSORS_HOLD_S = 0.25
"""How long a process relies on cursors: a job that was committed late, or came back, may wait before one meanwhile."""


@dataclass
class ClaimCursors:
    """Where a process begins its next claims: the index keeps the entries of claimed jobs until a vacuum."""

    cursors: dict[BacklogKey, datetime] = field(default_factory=dict)
    _forgot_at: float = 0.0

    def learn(self, reached: Cursors, now: float) -> None:
        """Note how far a claim has come; every `CURSORS_HOLD_S` all cursors are forgotten."""
        if now - self._forgot_at >= CURSORS_HOLD_S:
            self._forgot_at = now
            self.cursors.clear()
        else:
            self.cursors.update(reached)


@dataclass
class OutstandingDemand:
    """What the relay has sent for one queue's backlogs and is not known to be used, and how many jobs are left."""

    _sent: deque[tuple[float, Demand]] = field(default_factory=deque)
    """By message, the oldest first, with its time."""
    _outstanding: Counter[BacklogKey] = field(default_factory=Counter)
    _left: dict[BacklogKey, int] = field(default_factory=dict)

    def look(self, messages: int, now: float) -> None:
        """Note that the broker holds so many messages of the queue: demand sent before those has been used.

        Other messages are among them, so that age counts too: a window holds what is claimed in `AHEAD_S`.
        """
        while self._sent and (len(self._sent) > messages or self._sent[0][0] < now - AHEAD_S):
            self._outstanding -= Counter(self._sent.popleft()[1])

    def uncounted(self, wanted: Demand) -> Demand:
        """Which backlogs must be counted before so much can be sent, and up to how many jobs."""
        return {
            key: COUNTED_AHEAD * (count + self._outstanding[key])
            for key, count in wanted.items()
            if count > self._left.get(key, 0)
        }

    def counted(self, jobs: Demand) -> None:
        """Note how many jobs wait; those for which demand is outstanding are not left for more."""
        for key, count in jobs.items():
            self._left[key] = max(count - self._outstanding[key], 0)

    def take(self, wanted: Demand) -> Demand:
        """The part of what is wanted for which there are jobs left."""
        taken = {}
        for key, count in wanted.items():
            left = self._left.pop(key, 0)
            if given := min(count, left):
                taken[key] = given
            if left > given:
                self._left[key] = left - given
        return taken

    def sent(self, demand: Demand, now: float) -> None:
        """Note what went out in one message."""
        self._sent.append((now, demand))
        self._outstanding.update(demand)


def message_size(window: int) -> int:
    """Claims per message for a window of this size: the faster the fleet, the larger its windows.

    The smallest windows hold one job per message: each may last for minutes, and keeps a slot of its own. To open a
    message costs as much as a short job, so a fast fleet gets many claims with each. The process that gets a message
    claims what can begin soon, and the relay sends the rest again.
    """
    return min(max(window // MESSAGES_PER_WINDOW, 1), LARGEST_MESSAGE)


def interleave(demand: Demand, weights: Mapping[UUID, int], size: int) -> Iterator[Demand]:
    """The demand of each message, `size` jobs at most: the orgs take turns by weight, in the given order."""
    keys = list(demand)
    if len(keys) == 1:  # one tenant's flood, where every microsecond counts
        count = demand[keys[0]]
        yield from ({keys[0]: min(size, count - start)} for start in range(0, count, size))
        return
    turns = sorted(
        (place // weights[key.org_id], index)
        for index, (key, count) in enumerate(demand.items())
        for place in range(count)
    )
    for start in range(0, len(turns), size):
        part = Counter(index for _, index in turns[start : start + size])
        yield {keys[index]: count for index, count in part.items()}
