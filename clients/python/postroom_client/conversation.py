"""What is said and awaited, and in which order, without doing either: `Client` and `AsyncClient` carry it out.

Each conversation is a generator. It yields the call to send or the pause to make, gets what came of it, and returns the
result.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from itertools import count
from math import inf
from typing import Any, Optional, TypeVar, Union

import httpx

from postroom_client import calls
from postroom_client.calls import Call
from postroom_client.errors import NotAnswered, PostroomError, TooManyRequests
from postroom_client.options import Id
from postroom_client.records import Job, NotEnded, Run, RunEvent
from postroom_client.retries import Doubt, Outcome, Retries, doubt_of

Answer = TypeVar("Answer")
Seen = TypeVar("Seen", Job, Run)


@dataclass(frozen=True)
class Pause:
    """Wait for so many seconds."""

    seconds: float


@dataclass(frozen=True)
class Pace:
    """How long to wait between two looks at what has not ended, in seconds; half as long again each time."""

    first_s: float = 0.2
    longest_s: float = 5.0


Step = Union[Call[Any], Pause]
Steps = Generator[Step, Optional[Outcome], Answer]


@dataclass(frozen=True)
class Conversation:
    """How often a request is tried, and how often something is looked at."""

    retries: Retries = field(default_factory=Retries)
    pace: Pace = field(default_factory=Pace)
    clock: Callable[[], float] = time.monotonic
    luck: Callable[[], float] = random.random

    def tried(self, call: Call[Answer], within_s: float = inf) -> Steps[Answer]:
        """Send a request until it is answered definitely; raises `Refused` or `NotAnswered`."""
        ends_at = self.clock() + min(within_s, self.retries.within_s)
        maybe_done = False
        for number in count(1):
            outcome = yield call
            if outcome is None:
                raise TypeError("a call has an outcome")
            doubt = doubt_of(outcome)
            if doubt is None and isinstance(outcome, httpx.Response):
                return call.answer(outcome)
            maybe_done = maybe_done or doubt is Doubt.MAYBE_DONE
            wait_s = self.retries.wait_after(number, outcome, self.luck())
            is_last = number >= self.retries.tries or self.clock() + wait_s > ends_at
            if is_last or (maybe_done and not call.repeatable):
                raise _given_up(outcome, maybe_done=maybe_done)
            yield Pause(wait_s)
        raise AssertionError("counting does not end")

    def until_ended(
        self, look: Call[Seen], timeout_s: float | None, on_change: Callable[[Seen], object] | None
    ) -> Steps[Seen]:
        """Look until it has ended, and tell of each change; raises `NotEnded` when the time is over before."""
        ends_at = inf if timeout_s is None else self.clock() + timeout_s
        wait_s = self.pace.first_s
        last: Seen | None = None
        while True:
            seen = yield from self.tried(look, ends_at - self.clock())
            if seen != last:
                last, wait_s = seen, self.pace.first_s
                if on_change is not None:
                    on_change(seen)
            if seen.ended:
                return seen
            left_s = ends_at - self.clock()
            if left_s <= 0:
                raise NotEnded(seen)
            yield Pause(min(wait_s, left_s))
            wait_s = min(wait_s * 1.5, self.pace.longest_s)

    def events_of(self, run_id: Id) -> Steps[list[RunEvent]]:
        """All events that were sent to a run, page by page."""
        found: list[RunEvent] = []
        cursor: str | None = None
        while True:
            page = yield from self.tried(calls.run_events(run_id, cursor))
            found += page.events
            cursor = page.next_cursor
            if cursor is None:
                return found


def _given_up(outcome: Outcome, *, maybe_done: bool) -> PostroomError:
    """What to raise when no try is left; `maybe_done` says whether any of them may have been carried out."""
    if isinstance(outcome, httpx.RequestError):
        reason = f"no answer: {type(outcome).__name__}: {outcome}".rstrip(": ")
        failure = NotAnswered(reason, maybe_done=maybe_done)
        failure.__cause__ = outcome
        return failure
    refused = calls.refusal(outcome)
    if isinstance(refused, TooManyRequests) and not maybe_done:
        return refused
    failure = NotAnswered(f"{outcome.status_code} {refused.code}".rstrip(), maybe_done=maybe_done)
    failure.__cause__ = refused
    return failure
