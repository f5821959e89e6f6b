"""Whether beat lives, by its last tick for each periodic job; the same rows give the same answer, whoever looks."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import NamedTuple

LATE_AFTER = timedelta(minutes=5)
"""How long after its time a tick is late. Beat tries a tick each second that PostgreSQL did not take; five minutes is
what beat's own health check gives one look at the schedule, after which its supervisor starts it anew."""

ON_TIME = timedelta(0)
MOST_FREQUENT = timedelta(minutes=1)
"""How often beat ticks for the periodic jobs that are due most often."""


class Tick(NamedTuple):
    """The last tick of a periodic job."""

    job_type: str
    age: timedelta
    paused: bool
    """Whether a person keeps the job from running: a beat that is stopped meanwhile is missed by nobody."""


@dataclass(frozen=True, slots=True)
class Ticks:
    """What is known of beat."""

    age: timedelta | None
    """How old the newest tick is; None where no beat has ever run."""
    overdue: Mapping[str, timedelta]
    """By how much the next tick is overdue of each periodic job that had one; by nothing where the job is paused."""
    missing: tuple[str, ...]
    """Periodic jobs of this release for which the beat that runs has never ticked."""
    is_silent: bool
    """Whether no job gets ticks any more, paused or not."""

    @property
    def late(self) -> tuple[str, ...]:
        """The periodic jobs for which beat should have ticked, and which no person's gate pauses."""
        return tuple(sorted(name for name, by in self.overdue.items() if by > LATE_AFTER))


def ticks_of(found: Collection[Tick], every: Mapping[str, timedelta]) -> Ticks:
    """Compare the last ticks with the schedule; jobs that the schedule no longer names are not looked at."""
    known = [one for one in found if one.job_type in every]
    if not known:
        return Ticks(None, {}, (), is_silent=True)
    youngest = min(one.age for one in known)
    return Ticks(
        age=youngest,
        overdue={one.job_type: ON_TIME if one.paused else max(one.age - every[one.job_type], ON_TIME) for one in known},
        missing=tuple(sorted(set(every) - {one.job_type for one in known})),
        # The job that is due most often is the one that tells.
        is_silent=youngest > min(every.values()) + LATE_AFTER,
    )


def ticks_without_schedule(found: Collection[Tick]) -> Ticks:
    """Whether any beat lives, for a process that does not know the schedule: by the newest tick alone."""
    newest = min(found, key=lambda one: one.age, default=None)
    return ticks_of(found, {} if newest is None else {newest.job_type: MOST_FREQUENT})
