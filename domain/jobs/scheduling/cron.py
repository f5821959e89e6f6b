"""When a schedule is due: cron expressions in a time zone, and what to make of due times that were missed."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from domain.jobs.failures import Invalid
from domain.jobs.scheduling.zones import zone_names

FIELDS = 5
"""Minute, hour, day of month, month, day of week. A sixth field would be seconds, and the relay looks once a second."""

ON_TIME = timedelta(minutes=1)
"""So late a due time is not missed: the shortest distance of two, and more than a change of the leader takes."""

MOST_AT_ONCE = 100
"""Due times of one schedule that one transaction catches up with; the next goes on where it ended."""


class Missed(StrEnum):
    """What becomes of due times that went by while nobody looked."""

    SKIP = "skip"
    """They are over."""
    RUN_ONCE = "run_once"
    """One job for all of them."""
    RUN_ALL = "run_all"
    """A job for each."""


@dataclass(frozen=True, slots=True)
class Timetable:
    """A cron expression, the zone whose clocks it means, and what becomes of missed times."""

    expression: str
    zone: str
    missed: Missed


@dataclass(frozen=True, slots=True)
class DueTimes:
    """The due times to run now, and the next one to look at; without a next one the schedule is over."""

    due: tuple[datetime, ...]
    next_run_at: datetime | None


def next_after(timetable: Timetable, moment: datetime) -> datetime | None:
    """The first due time after a moment, in UTC; None when there is none within 50 years.

    As in Debian's cron: a fixed time that the clocks skip is due right after the gap; a fixed time that they show twice
    is due once; an expression that repeats by minutes or hours follows elapsed time. Raises `Invalid` with the field.
    """
    if timetable.zone not in zone_names():
        raise Invalid("zone", f"{timetable.zone} is no time zone, such as Europe/Berlin")
    zone = ZoneInfo(timetable.zone)
    if len(timetable.expression.split()) != FIELDS:
        raise Invalid("cron", "needs five fields: minute, hour, day of month, month, day of week")
    try:
        times = CronSim(timetable.expression, moment.astimezone(zone))
    except CronSimError as error:
        raise Invalid("cron", str(error)) from None
    # Of an hour that the clocks show twice a fixed time may be found that lies before the moment.
    return next((found for time in times if (found := time.astimezone(UTC)) > moment), None)


def plan(timetable: Timetable, next_run_at: datetime, now: datetime) -> DueTimes:
    """What to run of a schedule whose next due time has come; nothing while it has not."""
    if next_run_at > now:
        return DueTimes((), next_run_at)
    match timetable.missed:
        case Missed.RUN_ALL:
            return _plan_all(timetable, next_run_at, now)
        case Missed.RUN_ONCE:
            return DueTimes((next_run_at,), next_after(timetable, now))
        case Missed.SKIP:
            late = now - next_run_at >= ON_TIME
            # Two due times are never closer than that: of those that are over, at most one is not missed.
            recent = next_after(timetable, now - ON_TIME) if late else next_run_at
            due = (recent,) if recent is not None and recent <= now else ()
            return DueTimes(due, next_after(timetable, now))


def _plan_all(timetable: Timetable, next_run_at: datetime, now: datetime) -> DueTimes:
    due: list[datetime] = []
    following: datetime | None = next_run_at
    while following is not None and following <= now and len(due) < MOST_AT_ONCE:
        due.append(following)
        following = next_after(timetable, following)
    return DueTimes(tuple(due), following)
