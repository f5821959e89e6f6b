"""Which names of time zones are accepted, in payloads and everywhere else."""

from functools import cache
from zoneinfo import available_timezones


@cache
def zone_names() -> frozenset[str]:
    """The names of the IANA database with a region, and UTC: Python and PostgreSQL read each of them alike.

    A name without a region may be another thing to one of the two. To PostgreSQL CET, EET, MET and WET are
    abbreviations, an offset without summer time
    (https://www.postgresql.org/docs/current/datetime-config-files.html); to Python `localtime` is the machine's zone.
    """
    return frozenset(name for name in available_timezones() if "/" in name or name == "UTC")
