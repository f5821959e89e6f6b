"""Recurrence rules, the daily to yearly part of RFC 5545, by the wall clock of a zone: of reminders and of calendars.

A closed list of words is taken. The days are looked for period by period, so that a search costs what it passes: it
ends at its latest moment, also where it finds nothing.
"""

from calendar import isleap, monthrange
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import MAXYEAR, UTC, date, datetime, timedelta
from enum import Enum
from itertools import islice
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from domain.jobs.failures import Invalid

LONGEST_RULE = 500
MOST_INTERVAL = 1_000
MOST_VALUES = 64
"""Values of all lists together: the longest rule of RFC 5545's examples has ten."""
MOST_CANDIDATES = 5_000
"""Due times that one search looks at, and the largest COUNT: a daily rule of thirteen years, found in 20 ms."""
HORIZON = timedelta(days=18_263)
"""50 years: what is not due until then is over."""
LEAP_YEAR = 2_024
MOST_DIGITS = 9
"""Of a number in a rule; Python reads no more than some thousand."""
MOST_DAYS, MOST_WEEKS = 366, 5
"""Of a year, and of a month: no weekday comes more often."""
WEEK = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
MARGIN = timedelta(days=2)
"""No zone is further from another; what a search looks at more on both sides."""


class Frequency(Enum):
    """How long a period of a rule is, in days at most."""

    DAILY = 1
    WEEKLY = 7
    MONTHLY = 31
    YEARLY = 366


COST_OF_PERIOD = 4
"""What a search does once for each period or month costs as much as so many days."""
LETTERS_OF_DAY = 4
"""So many letters of a rule cost as much to read as a day costs to look at."""
Period = tuple[date, list[date]]
"""Its first day, and the days of it that a rule names, in order."""


class Day(NamedTuple):
    """A day of the week, or the n-th one of the month or year; from the end if n is negative."""

    weekday: int
    nth: int | None


def uncounted(_: int) -> None:
    """Count nothing: for a search that is small by itself."""


@dataclass(frozen=True, slots=True)
class Recurrence:
    """When something comes again (RFC 5545 3.3.10)."""

    frequency: Frequency
    interval: int = 1
    count: int | None = None
    until: datetime | None = None
    """With a zone an instant; without one a time by the wall clock."""
    by_day: frozenset[Day] = frozenset()
    """Sets, as all lists: a day costs as much to look at however many values a rule has."""
    by_month_day: frozenset[int] = frozenset()
    by_month: frozenset[int] = frozenset()
    by_set_pos: frozenset[int] = frozenset()
    week_start: int = 0

    @classmethod
    def parse(cls, text: str, *, field: str = "rule", passes: Callable[[int], None] = uncounted) -> "Recurrence":
        """A rule such as `FREQ=WEEKLY;BYDAY=MO,FR`; raises `Invalid` with the part that is not taken and the reason.

        `passes` is called before with what it costs to read the rule, as `due_times` does.
        """
        if len(text) > LONGEST_RULE:
            raise Invalid(field, f"has more than {LONGEST_RULE} characters")
        passes(len(text) // LETTERS_OF_DAY)
        parts: dict[str, str] = {}
        for part in text.strip().upper().removeprefix("RRULE:").removesuffix(";").split(";"):
            name, sign, value = part.partition("=")
            if not sign or not value:
                raise Invalid(field, f"{part[:40]!r} is no NAME=VALUE")
            if name in parts:
                raise Invalid(field, f"{name} is given twice")
            parts[name] = value
        return _Reader(field, parts).read()

    def due_times(
        self,
        *,
        start: datetime,
        zone: ZoneInfo,
        after: datetime,
        until: datetime | None = None,
        passes: Callable[[int], None] = uncounted,
    ) -> Iterator[datetime]:
        """The due times after a moment, in UTC, each later than the one before; none after `until`, or in 50 years.

        `start` is the wall-clock time from which the rule counts; it is due where the rule says so. A time that the
        clocks skip counts with the offset before the gap, and of a time that they show twice the first is due (RFC 5545
        3.3.5). So two days may be due at one instant, as where a zone leaves a whole day out: that is one due time.
        `passes` is called with what a period costs, in days that are looked at, before the next one; what it raises
        ends the search.
        """
        latest, last = until or after + HORIZON, after
        for local in islice(self._candidates(start, _clock(after, zone), _clock(latest, zone), passes), self._most):
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
    def _cost(self) -> int:
        """What a period costs: the days of it that are looked at, and what is done once."""
        if self.frequency is Frequency.DAILY:
            return COST_OF_PERIOD
        if self.frequency is Frequency.WEEKLY:
            return COST_OF_PERIOD + (len(self.by_day) or 1)
        months = 1 if self.frequency is Frequency.MONTHLY else len(self.by_month) or 12
        return months * (COST_OF_PERIOD + (len(self.by_month_day) or (31 if self.by_day else 1)))

    @property
    def _most(self) -> int:
        return MOST_CANDIDATES if self.count is None else self.count

    def _is_past_end(self, local: datetime, due: datetime) -> bool:
        if self.until is None:
            return False
        return (local if self.until.tzinfo is None else due) > self.until

    def _candidates(
        self, start: datetime, after: datetime, latest: datetime, passes: Callable[[int], None]
    ) -> Iterator[datetime]:
        """Wall-clock times from the start on; a rule without COUNT begins shortly before `after`."""
        begin, last = start.date(), (latest + MARGIN).date()
        sought = begin if self.count is not None else max(begin, (after - MARGIN).date())
        in_months = self.frequency in {Frequency.MONTHLY, Frequency.YEARLY}
        for first, named in self._months(begin, sought) if in_months else self._weeks(begin, sought):
            if first > last:
                return
            passes(self._cost)
            for index, day in enumerate(named):
                is_chosen = not self.by_set_pos or {index + 1, index - len(named)} & self.by_set_pos
                if is_chosen and day >= sought:
                    yield datetime.combine(day, start.time())

    def _weeks(self, begin: date, sought: date) -> Iterator[Period]:
        """The periods of a daily or weekly rule, from the last that begins no later than the day that is sought."""
        weekdays, length, offsets = {one.weekday for one in self.by_day} or set(range(7)), 1, [0]
        first = begin
        if self.frequency is Frequency.WEEKLY:
            weekdays, length = {one.weekday for one in self.by_day} or {begin.weekday()}, 7
            offsets = sorted((one - self.week_start) % 7 for one in weekdays)
            first -= timedelta(days=(begin.weekday() - self.week_start) % 7)
        step = timedelta(days=self.interval * length)
        first += (sought - first) // step * step
        while True:
            days = (first + timedelta(days=one) for one in offsets)
            yield first, [one for one in days if one.weekday() in weekdays and self._is_of_month(one)]
            first += step

    def _is_of_month(self, day: date) -> bool:
        if self.by_month and day.month not in self.by_month:
            return False
        length = monthrange(day.year, day.month)[1]
        return not self.by_month_day or bool({day.day, day.day - length - 1} & self.by_month_day)

    def _months(self, begin: date, sought: date) -> Iterator[Period]:
        """The periods of a monthly or yearly rule, from the last that begins no later than the day that is sought."""
        is_yearly = self.frequency is Frequency.YEARLY
        length = self.interval * (12 if is_yearly else 1)
        first = 12 * begin.year + (0 if is_yearly else begin.month - 1)
        first += (12 * sought.year + sought.month - 1 - first) // length * length
        months = tuple(sorted(self.by_month)) or tuple(range(1, 13))
        if is_yearly and not (self.by_month or self.by_month_day or self.by_day):
            months = (begin.month,)
        for number in range(first, 12 * (MAXYEAR + 1), length):
            year, month = divmod(number, 12)
            counted = months if is_yearly else tuple({month + 1} & set(months))
            yield date(year, month + 1, 1), [one for of in counted for one in self._days(year, of, begin)]

    def _days(self, year: int, month: int, begin: date) -> Iterator[date]:
        """The days of a month that a rule names; what it takes from its first day is said outright."""
        begins_on, length = monthrange(year, month)
        named = self.by_month_day or (() if self.by_day else (begin.day,))
        numbers = sorted({one if one > 0 else length + 1 + one for one in named}) or range(1, length + 1)
        is_yearly = self.frequency is Frequency.YEARLY and not self.by_month
        before, of = (date(year, month, 1).timetuple().tm_yday - 1, 365 + isleap(year)) if is_yearly else (0, length)
        for number in numbers:
            weekday, at = (begins_on + number - 1) % 7, before + number
            counted = (None, (at + 6) // 7, -((of - at) // 7 + 1))
            is_named = not self.by_day or any((weekday, nth) in self.by_day for nth in counted)
            if is_named and 1 <= number <= length:
                yield date(year, month, number)


def _clock(moment: datetime, zone: ZoneInfo) -> datetime:
    return moment.astimezone(zone).replace(tzinfo=None)


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
            by_day=frozenset(self._list("BYDAY", lambda text: self._day(text, frequency))),
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

    def _numbers(self, name: str, most: int, *, both: bool = False) -> frozenset[int]:
        return frozenset(self._list(name, lambda text: self._whole(name, text, -most if both else 1, most)))

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
    months = 1 if rule.frequency is Frequency.MONTHLY else len(rule.by_month) or 12
    match rule.frequency:
        case Frequency.DAILY:
            return 1
        case Frequency.WEEKLY:
            return len(rule.by_day) or 1
        case Frequency.MONTHLY | Frequency.YEARLY:
            by_date = len(rule.by_month_day) * months or MOST_DAYS
            by_day = sum(1 if day.nth is not None else MOST_WEEKS for day in rule.by_day) * months or MOST_DAYS
            return min(by_date, by_day, 31 * months) if rule.by_month_day or rule.by_day else months
