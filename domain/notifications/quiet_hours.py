"""Quiet hours: a part of each day, by the clock on the person's wall, in which nothing may ring."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from domain.jobs.failures import Invalid

SECOND = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class QuietHours:
    """From one time of the day until another; over midnight where the end is the smaller."""

    begin: time
    end: time

    def until(self, moment: datetime, zone: str) -> datetime | None:
        """When the quiet hours end that the moment is in; None when it is in none.

        Whenever the clock shows a time from `begin` to before `end`, it is quiet: a time that comes twice in a night
        ends the quiet hours the second time, and one that is skipped begins or ends them right after the gap.
        """
        place = ZoneInfo(zone)
        today = moment.astimezone(place).date()
        length = timedelta(days=int(self.end < self.begin))
        for day in (today - timedelta(days=1), today):
            ends = instant_of(day + length, self.end, place, fold=1)
            if instant_of(day, self.begin, place, fold=0) <= moment < ends:
                return ends
        return None


def quiet_hours(begin: str, end: str) -> QuietHours:
    """Quiet hours from two times as `22:00` and `07:00`; raises `Invalid`."""
    found = QuietHours(_time("begin", begin), _time("end", end))
    if found.begin == found.end:
        raise Invalid("end", "is the same as the begin: name two times, or remove the quiet hours")
    return found


def _time(field: str, text: str) -> time:
    try:
        read = time.fromisoformat(text)
    except ValueError:
        read = None
    if read is None or read.tzinfo is not None or read.second or read.microsecond:
        raise Invalid(field, "is no time of the day, such as 22:00")
    return read


def instant_of(day: date, at: time, zone: ZoneInfo, *, fold: int) -> datetime:
    """When clocks in the zone show a time: `fold` is which one of two; right after the gap for one that is skipped."""
    wall = datetime.combine(day, at)
    found = wall.replace(tzinfo=zone, fold=fold).astimezone(UTC)
    if found.astimezone(zone).replace(tzinfo=None, fold=0) == wall:
        return found
    # The clock was put forward between what the two offsets make of the time.
    before, after = sorted(wall.replace(tzinfo=zone, fold=one).astimezone(UTC) for one in (0, 1))
    offset = before.astimezone(zone).utcoffset()
    while after - before > SECOND:
        middle = before + (after - before) // 2
        before, after = (middle, after) if middle.astimezone(zone).utcoffset() == offset else (before, middle)
    return after.replace(microsecond=0)
