"""Recurrence rules, the daily to yearly part of RFC 5545, by the wall clock of a zone.

`python-dateutil` finds the days. This module is the fence around the package: it takes a closed list of words, bounds
every search, and attaches the zone to what was found.
"""

from calendar import monthrange
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from itertools import dropwhile, islice
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from dateutil import rrule

from domain.jobs.failures import Invalid

LONGEST_RULE = 500
MOST_INTERVAL = 1_000
MOST_VALUES = 64
"""Values of all lists together: the longest rule of RFC 5545's examples has ten."""
MOST_CANDIDATES = 5_000
"""Due times that one search looks at, and the largest COUNT: a daily rule of thirteen years, found in 20 ms."""
HORIZON = timedelta(days=18_263)
"""50 years: what is not due until then is over."""
CYCLE_YEARS = 400
"""After as many years the calendar repeats to the weekday."""
LAST_YEAR = 9_999
"""`dateutil` searches until then, however long a rule finds nothing."""
LEAP_YEAR = 2_024
MOST_DIGITS = 9
"""Of a number in a rule; Python reads no more than some thousand."""
MOST_DAYS, MOST_WEEKS = 366, 5
"""Of a year, and of a month: no weekday comes more often."""
WEEK = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")


class Frequency(Enum):
    """How long a period of a rule is."""

    DAILY = rrule.DAILY
    WEEKLY = rrule.WEEKLY
    MONTHLY = rrule.MONTHLY
    YEARLY = rrule.YEARLY


class Day(NamedTuple):
    """A day of the week, or the n-th one of the month or year; from the end if n is negative."""

    weekday: int
    nth: int | None


@dataclass(frozen=True, slots=True)
class Recurrence:
    """When something comes again (RFC 5545 3.3.10)."""

    frequency: Frequency
    interval: int = 1
    count: int | None = None
    until: datetime | None = None
    """With a zone an instant; without one a time by the wall clock."""
    by_day: tuple[Day, ...] = ()
    by_month_day: tuple[int, ...] = ()
    by_month: tuple[int, ...] = ()
    by_set_pos: tuple[int, ...] = ()
    week_start: int = 0

    @classmethod
    def parse(cls, text: str, *, field: str = "rule") -> "Recurrence":
        """A rule such as `FREQ=WEEKLY;BYDAY=MO,FR`; raises `Invalid` with the part that is not taken and the reason."""
        if len(text) > LONGEST_RULE:
            raise Invalid(field, f"has more than {LONGEST_RULE} characters")
        parts: dict[str, str] = {}
        for part in text.strip().upper().removeprefix("RRULE:").removesuffix(";").split(";"):
            name, sign, value = part.partition("=")
            if not sign or not value:
                raise Invalid(field, f"{part[:40]!r} is no NAME=VALUE")
            if name in parts:
                raise Invalid(field, f"{name} is given twice")
            parts[name] = value
        return _Reader(field, parts).read()

    def due_times(self, *, start: datetime, zone: ZoneInfo, after: datetime) -> Iterator[datetime]:
        """The due times after a moment, in UTC, each later than the one before.

        `start` is the wall-clock time from which the rule counts; it is due where the rule says so. A time that the
        clocks skip counts with the offset before the gap, and of a time that they show twice the first is due (RFC 5545
        3.3.5). So two days may be due at one instant, as where a zone leaves a whole day out: that is one due time.
        """
        latest, last = after + HORIZON, after
        for local in islice(self._candidates(start, after.astimezone(zone).replace(tzinfo=None)), self._most):
            due = local.replace(tzinfo=zone).astimezone(UTC)
            if due > latest or self._is_past_end(local, due):
                return
            if due > last:
                last = due
                yield due

    def next_after(self, moment: datetime, *, start: datetime, zone: ZoneInfo) -> datetime | None:
        """The first due time that is later than a moment; None when the rule is over."""
        return next(self.due_times(start=start, zone=zone, after=moment), None)

    @property
    def _most(self) -> int:
        return MOST_CANDIDATES if self.count is None else self.count

    def _is_past_end(self, local: datetime, due: datetime) -> bool:
        if self.until is None:
            return False
        return (local if self.until.tzinfo is None else due) > self.until

    def _candidates(self, start: datetime, moment: datetime) -> Iterator[datetime]:
        """Wall-clock times from the start on; a rule without COUNT begins shortly before the moment."""
        begin = self._first_period(start)
        # Two days: no zone is further from another.
        passed = moment - timedelta(days=2) - begin
        if self.count is None and passed > timedelta(0):
            begin = self._later_period(begin, moment - timedelta(days=2))
        # A rule that finds nothing is searched until the last year: in the last cycle, a twentieth of the time.
        cycles = max(0, (LAST_YEAR - HORIZON // timedelta(days=365) - 1 - begin.year) // CYCLE_YEARS)
        shift = cycles * CYCLE_YEARS
        found = self._rule(start, begin.replace(year=begin.year + shift))
        times = (one.replace(year=one.year - shift) for one in found)
        return dropwhile(lambda one: one < start, times)

    def _rule(self, start: datetime, begin: datetime) -> rrule.rrule:
        """The package's rule. What it would take from its first day is said outright, for that is a period's first."""
        days, month_days, months = self.by_day, self.by_month_day, self.by_month
        if not days and not month_days:
            if self.frequency is Frequency.WEEKLY:
                days = (Day(start.weekday(), None),)
            elif self.frequency is not Frequency.DAILY:
                month_days = (start.day,)
                if self.frequency is Frequency.YEARLY and not months:
                    months = (start.month,)
        return rrule.rrule(
            self.frequency.value,
            dtstart=begin,
            interval=self.interval,
            wkst=self.week_start,
            byweekday=[rrule.weekday(day.weekday, day.nth) for day in days] or None,
            bymonthday=month_days or None,
            bymonth=months or None,
            bysetpos=self.by_set_pos or None,
        )

    def _first_period(self, start: datetime) -> datetime:
        """Where the period of the start begins, at the start's time of day: BYSETPOS counts in whole periods."""
        match self.frequency:
            case Frequency.DAILY:
                return start
            case Frequency.WEEKLY:
                return start - timedelta(days=(start.weekday() - self.week_start) % 7)
            case Frequency.MONTHLY:
                return start.replace(day=1)
            case Frequency.YEARLY:
                return start.replace(month=1, day=1)

    def _later_period(self, begin: datetime, before: datetime) -> datetime:
        """The beginning of the last period of the rule that begins no later than a time after its first."""
        if self.frequency in {Frequency.DAILY, Frequency.WEEKLY}:
            length = timedelta(days=self.interval * (7 if self.frequency is Frequency.WEEKLY else 1))
            return begin + (before - begin) // length * length
        months = self.interval * (12 if self.frequency is Frequency.YEARLY else 1)
        # On the first of a month the period may begin later than `before`; nothing is due between the two.
        passed = (before.year - begin.year) * 12 + before.month - begin.month
        years, month = divmod(begin.month - 1 + passed // months * months, 12)
        return begin.replace(year=begin.year + years, month=month + 1)


class _Reader:
    """Reads the parts of a rule, and refuses what is not taken by its name."""

    def __init__(self, field: str, parts: Mapping[str, str]) -> None:
        self._field, self._parts = field, parts
        self._values = 0

    def read(self) -> Recurrence:
        self._check_names()
        frequency = self._frequency()
        made = Recurrence(
            frequency,
            interval=self._number("INTERVAL", 1, MOST_INTERVAL) or 1,
            count=self._number("COUNT", 1, MOST_CANDIDATES),
            until=self._until(),
            by_day=tuple(self._list("BYDAY", lambda text: self._day(text, frequency))),
            by_month_day=self._numbers("BYMONTHDAY", 31, both=True),
            by_month=self._numbers("BYMONTH", 12),
            by_set_pos=self._numbers("BYSETPOS", 366, both=True),
            week_start=self._weekday("WKST", self._parts.get("WKST", "MO")),
        )
        self._check(made)
        return made

    def _refused(self, reason: str) -> Invalid:
        return Invalid(self._field, reason)

    def _check_names(self) -> None:
        taken = ("FREQ", "INTERVAL", "COUNT", "UNTIL", "BYDAY", "BYMONTHDAY", "BYMONTH", "BYSETPOS", "WKST")
        for name in self._parts:
            if name not in taken:
                raise self._refused(f"{name[:40]} is not taken; what is: {', '.join(taken)}")

    def _frequency(self) -> Frequency:
        given = self._parts.get("FREQ")
        if given is None:
            raise self._refused("FREQ is missing")
        if given not in Frequency.__members__:
            raise self._refused(f"FREQ={given[:40]} is not taken; what is: {', '.join(Frequency.__members__)}")
        return Frequency[given]

    def _number(self, name: str, least: int, most: int) -> int | None:
        given = self._parts.get(name)
        return None if given is None else self._whole(name, given, least, most)

    def _whole(self, name: str, text: str, least: int, most: int) -> int:
        digits = text.removeprefix("-").removeprefix("+") if least < 0 else text
        number = int(text) if digits.isascii() and digits.isdecimal() and len(text) <= MOST_DIGITS else None
        if number is None or not least <= number <= most or (least < 0 and number == 0):
            raise self._refused(f"{name}={text[:40]} is no whole number from {least} to {most}")
        return number

    def _list(self, name: str, read: Callable[[str], Any]) -> Sequence[Any]:
        given = self._parts.get(name)
        if given is None:
            return ()
        values = given.split(",")
        self._values += len(values)
        if self._values > MOST_VALUES:
            raise self._refused(f"{name}: the lists have more than {MOST_VALUES} values")
        return [read(value) for value in values]

    def _numbers(self, name: str, most: int, *, both: bool = False) -> tuple[int, ...]:
        return tuple(self._list(name, lambda text: self._whole(name, text, -most if both else 1, most)))

    def _weekday(self, name: str, text: str) -> int:
        if text not in WEEK:
            raise self._refused(f"{name}={text[:40]} is none of {', '.join(WEEK)}")
        return WEEK.index(text)

    def _day(self, text: str, frequency: Frequency) -> Day:
        weekday, number = self._weekday("BYDAY", text[-2:]), text[:-2]
        if not number:
            return Day(weekday, None)
        if frequency not in {Frequency.MONTHLY, Frequency.YEARLY}:
            raise self._refused(f"BYDAY={text[:40]}: only MONTHLY and YEARLY count days of the week")
        most = 5 if frequency is Frequency.MONTHLY else 53
        return Day(weekday, self._whole("BYDAY", number, -most, most))

    def _until(self) -> datetime | None:
        text = self._parts.get("UNTIL")
        if text is None:
            return None
        if "COUNT" in self._parts:
            raise self._refused("COUNT and UNTIL exclude each other")
        for form in ("%Y%m%d", "%Y%m%dT%H%M%S", "%Y%m%dT%H%M%SZ"):
            try:
                found = datetime.strptime(text, form)  # noqa: DTZ007 - a wall-clock time, unless it ends with Z
            except ValueError:
                continue
            if form.endswith("Z"):
                return found.replace(tzinfo=UTC)
            return found + timedelta(days=1, seconds=-1) if form == "%Y%m%d" else found
        raise self._refused(f"UNTIL={text[:40]} is no date such as 20271224, 20271224T090000 or 20271224T080000Z")

    def _check(self, made: Recurrence) -> None:
        if made.by_month_day and made.frequency is Frequency.WEEKLY:
            raise self._refused("BYMONTHDAY is not for WEEKLY")
        if made.by_set_pos and not (made.by_day or made.by_month_day or made.by_month):
            raise self._refused("BYSETPOS needs BYDAY, BYMONTHDAY or BYMONTH beside it")
        largest = _largest_set(made)
        if made.by_set_pos and all(abs(position) > largest for position in made.by_set_pos):
            raise self._refused(
                f"BYSETPOS={self._parts['BYSETPOS']}: a period of the rule has at most {largest} such days"
            )
        if made.by_month and made.by_month_day:
            longest = max(monthrange(LEAP_YEAR, month)[1] for month in made.by_month)
            if all(abs(day) > longest for day in made.by_month_day):
                raise self._refused(f"BYMONTHDAY={self._parts['BYMONTHDAY']}: no month of BYMONTH has that day")


def _largest_set(rule: Recurrence) -> int:
    """How many days a period of a rule has at most, from which BYSETPOS chooses."""
    months = 1 if rule.frequency is Frequency.MONTHLY else len(set(rule.by_month)) or 12
    match rule.frequency:
        case Frequency.DAILY:
            return 1
        case Frequency.WEEKLY:
            return len(set(rule.by_day)) or 1
        case Frequency.MONTHLY | Frequency.YEARLY:
            by_date = len(set(rule.by_month_day)) * months or MOST_DAYS
            by_day = sum(1 if day.nth is not None else MOST_WEEKS for day in set(rule.by_day)) * months or MOST_DAYS
            return min(by_date, by_day, 31 * months) if rule.by_month_day or rule.by_day else months
