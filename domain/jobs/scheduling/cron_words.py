"""A cron expression as a sentence says it, and its next due times."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import islice

from domain.jobs.scheduling.cron import FIELDS, Timetable, next_after

DAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    "", "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
ANY = "*"


def due_times(timetable: Timetable, first: datetime, number: int) -> Sequence[datetime]:
    """The due time `first` and those that follow it, at most so many, in UTC; raises `Invalid` as `next_after`."""
    found = [first]
    while len(found) < number and (following := next_after(timetable, found[-1])) is not None:
        found.append(following)
    return list(islice(found, number))


def in_words(expression: str) -> str:
    """When an expression is due: "at 08:30, Monday to Friday". What has no simple words is said field by field."""
    fields = expression.split()
    if len(fields) != FIELDS:
        return expression
    minute, hour, day, month, weekday = fields
    time = _time(minute, hour)
    days = _days(day, weekday)
    if not days and time.startswith("at "):
        days = "each day"
    return ", ".join(filter(None, (time, days, "" if month == ANY else f"in {_named(month, MONTHS)}")))


def _time(minute: str, hour: str) -> str:
    if minute.isdecimal():
        if hour == ANY:
            return "each hour" if int(minute) == 0 else f"each hour at minute {int(minute)}"
        if hour.replace(",", "").isdecimal():
            return f"at {_listed([f'{int(one):02}:{int(minute):02}' for one in hour.split(',')])}"
        if (step := _step(hour)) is not None:
            return f"every {step} hours" + ("" if int(minute) == 0 else f" at minute {int(minute)}")
        start, is_range, end = hour.partition("-")
        if is_range and start.isdecimal() and end.isdecimal():
            return f"each hour from {int(start):02}:{int(minute):02} to {int(end):02}:{int(minute):02}"
    minutes = "every minute" if minute == ANY else f"at minutes {minute}"
    if (step := _step(minute)) is not None:
        minutes = f"every {step} minutes"
    return minutes if hour == ANY else f"{minutes} of the hours {hour}"


def _days(day: str, weekday: str) -> str:
    """On which days; cron runs on either where both are named."""
    dates = ""
    if day != ANY:
        is_last = day.upper() == "L"
        dates = "on the last day of the month" if is_last else f"on day {day.replace(',', ', ')} of the month"
    names = "" if weekday == ANY else _named(weekday, DAYS)
    if names and dates:
        return f"{dates} or on {names}"
    return dates or (names if " to " in names else f"on {names}" if names else "")


def _named(field: str, names: Sequence[str]) -> str:
    """Days or months by their names; what is no name or number stays as it is."""
    known: Mapping[str, str] = {
        **{str(number): name for number, name in enumerate(names) if name},
        **{name[:3].lower(): name for name in names if name},
    }
    parts = []
    for part in field.lower().split(","):
        start, is_range, end = part.partition("-")
        said = known.get(start.lstrip("0") or "0", start)
        parts.append(f"{said} to {known.get(end.lstrip('0') or '0', end)}" if is_range else said)
    return _listed(parts)


def _step(field: str) -> int | None:
    start, _, step = field.partition("/")
    return int(step) if start == ANY and step.isdecimal() else None


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
