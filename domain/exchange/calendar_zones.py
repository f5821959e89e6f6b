"""The rules of a time zone that a calendar file defines (RFC 5545 section 3.6.5), looked at before any are followed."""

from dataclasses import dataclass, field

from domain.exchange.csv_file import Faults
from domain.jobs.failures import Invalid
from domain.payloads.planning import LAST_YEAR
from domain.scheduling.recurrence import Frequency, Recurrence

YEAR_STEPS = 3
"""What a year of a time zone's rule takes, in steps of an event's rule: 30 µs instead of 10."""
MOST_WEEKS = 5
"""Of a month: no weekday comes more often."""
DAYS_OF_A_WEEK = 7


@dataclass
class ZonePart:
    """A part of a time zone, STANDARD or DAYLIGHT: from when on its rules count."""

    start_year: int | None = None
    rules: list[Recurrence] = field(default_factory=list)
    days: int = 0
    """Days that are named one by one."""

    def take_start(self, value: str) -> None:
        """The earliest start counts, where a part has several."""
        year = int(value[:4]) if value[:4].isascii() and value[:4].isdecimal() else 1
        self.start_year = year if self.start_year is None else min(year, self.start_year)

    def steps(self) -> int:
        """How many times its rules pass, in steps of an event's rule."""
        return self.days + YEAR_STEPS * sum(_years(rule, self.start_year or 1) for rule in self.rules)


def _years(rule: Recurrence, start: int) -> int:
    until = LAST_YEAR if rule.until is None else min(LAST_YEAR, rule.until.year)
    years = max(0, until - start) + 1
    return years if rule.count is None else min(years, rule.count)


def check_zone_rule(row: int, words: str, faults: Faults) -> Recurrence | None:
    """A rule that names one day of each year; None, with a fault, for any other.

    A time zone changes so (RFC 5545 section 3.6.5). Any other rule would name all days since the year 1601.
    """
    try:
        rule = Recurrence.parse(words, field="RRULE")
    except Invalid as refusal:
        faults.add(row, "RRULE", words, refusal.reason.partition(": ")[2])
        return None
    why = ""
    if rule.frequency is not Frequency.YEARLY:
        why = "FREQ must be YEARLY"
    elif rule.interval != 1:
        why = "INTERVAL must be 1"
    elif rule.by_set_pos or not _is_one_day(rule):
        why = "it must name one day of a year, such as BYMONTH=3;BYDAY=-1SU"
    if why:
        faults.add(row, "RRULE", words, f"is not taken for a time zone: {why}")
    return None if why else rule


def _is_one_day(rule: Recurrence) -> bool:
    """Whether a yearly rule names at most one day of a year, and not a day that never comes."""
    days, month_days = rule.by_day, rule.by_month_day
    if not days and not month_days:
        return not rule.by_month  # the day of DTSTART
    if len(rule.by_month) != 1 or len(days) > 1:
        return False
    if not month_days:
        return days[0].nth is not None and abs(days[0].nth) <= MOST_WEEKS
    if not days:
        return len(month_days) == 1
    # "The Sunday on or after the 21st" is written as BYMONTHDAY=21,22,23,24,25,26,27;BYDAY=SU.
    first, last = min(month_days), max(month_days)
    return days[0].nth is None and last - first < DAYS_OF_A_WEEK and (first > 0) == (last > 0)
