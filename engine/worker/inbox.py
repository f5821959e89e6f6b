"""What a worker's main process has received from the broker and not claimed yet."""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

from domain.jobs.job import Hint
from domain.jobs.scheduling.backlog_demand import BacklogKey
from engine.broker.hints import HintMessage, Named

INERTIA = 0.8
"""How much of the average the next message leaves standing."""


@dataclass(slots=True, eq=False)
class Envelope:
    """One broker message; it is answered when each of its hints is claimed, or is known to need no claim here."""

    message: Any
    task: str
    """A job type, or `CLAIM_BACKLOG`."""
    queue: str
    named: list[Named]
    """What was not taken yet, the next one last."""
    left: int
    open: int
    """Hints that are not dealt with, the taken ones among them."""
    received_at: float
    is_shareable: bool
    """Whether other workers may do a part of it: it names several jobs, or backlogs."""

    @property
    def backlog(self) -> BacklogKey | None:
        """A backlog key that the message names, None where it names jobs."""
        first = self.named[-1][0] if self.named else None
        return first if isinstance(first, BacklogKey) else None

    @property
    def hints(self) -> Sequence[Hint]:
        """The jobs that it names and that were not taken yet; none where it names backlogs."""
        return [Hint(what, self.task, self.queue) for what, _ in reversed(self.named) if isinstance(what, UUID)]


class TakenHints(NamedTuple):
    """Hints that were taken from one envelope, to be claimed together."""

    envelope: Envelope
    named: Sequence[Named]
    size: int
    """How many hints; each job to be claimed from a backlog is one."""

    def apart(self) -> Iterator["TakenHints"]:
        """The same hints, each job and each backlog key by itself."""
        for what, count in self.named:
            yield TakenHints(self.envelope, [(what, count)], count)


def add_demand(taken: Sequence[TakenHints]) -> Mapping[BacklogKey, int]:
    """How many jobs these hints ask for by backlog key."""
    demand: dict[BacklogKey, int] = {}
    for one in taken:
        for what, count in one.named:
            if isinstance(what, BacklogKey):
                demand[what] = demand.get(what, 0) + count
    return demand


class Inbox:
    """Envelopes in the order in which they came; hints are taken from the first."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._envelopes: deque[Envelope] = deque()
        self.hints = 0
        """Not taken yet; each job to be claimed from a backlog is one."""
        self.messages = 0
        """Not answered yet."""
        self.bundled = 1.0
        """Hints per message, averaged."""

    @property
    def envelopes(self) -> Sequence[Envelope]:
        """All of which something was not taken yet."""
        return tuple(self._envelopes)

    @property
    def first(self) -> Envelope:
        """Where the next hint lies; `IndexError` when there is none."""
        return self._envelopes[0]

    @property
    def last(self) -> Envelope:
        """What came last."""
        return self._envelopes[-1]

    def receive(self, message: Any, hints: HintMessage, now: float) -> None:  # noqa: ANN401 - a kombu message
        """Put a message in, after the others."""
        count = sum(number for _, number in hints.named)
        named = list(reversed(hints.named))
        is_shareable = count > 1 or not isinstance(named[0][0], UUID)
        self._envelopes.append(Envelope(message, hints.task, hints.queue, named, count, count, now, is_shareable))
        self.hints += count
        self.messages += 1
        self.bundled += (1 - INERTIA) * (count - self.bundled)

    def take(self, most: int) -> TakenHints:
        """The next hints of the first envelope, at most so many."""
        envelope, taken, room = self._envelopes[0], [], most
        while room and envelope.named:
            what, number = envelope.named.pop()
            used = min(number, room)
            taken.append((what, used))
            room -= used
            if number > used:
                envelope.named.append((what, number - used))
        self._count(envelope, room - most)
        if not envelope.left:
            self._envelopes.popleft()
        return TakenHints(envelope, taken, most - room)

    def put_back(self, taken: Sequence[TakenHints]) -> None:
        """Undo the latest takings, given in their order."""
        for one in reversed(taken):
            if not one.envelope.left:
                self._envelopes.appendleft(one.envelope)
            one.envelope.named.extend(reversed(one.named))
            self._count(one.envelope, one.size)

    def deal_with(self, taken: Sequence[TakenHints]) -> Iterator[Any]:
        """Note that these hints need no claim any more; yields the messages that can be answered now."""
        for envelope, _, size in taken:
            envelope.open -= size
            if not envelope.open:
                self.messages -= 1
                yield envelope.message

    def drop(self, envelope: Envelope) -> Iterator[Any]:
        """Forget what was not taken of an envelope; yields its message if it can be answered now."""
        self._envelopes.remove(envelope)
        yield from self.deal_with([TakenHints(envelope, (), envelope.left)])
        envelope.named.clear()
        self._count(envelope, -envelope.left)

    def clear(self) -> None:
        """Forget all hints that were not taken; their messages stay unanswered."""
        self._envelopes.clear()
        self.hints = 0

    def _count(self, envelope: Envelope, hints: int) -> None:
        envelope.left += hints
        self.hints += hints
