"""A point in time as every entry point takes it: RFC 3339 with an offset, kept in UTC (docs: seeds.md#004-65).

Two spellings of one instant are one value, so that the key of a unique job and the digest of a request are the same.
"""

import re
from datetime import UTC, datetime

FORM = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d([.,]\d{1,9})?)?([Zz]|[+-]\d\d:?\d\d)?", re.ASCII)
"""RFC 3339, section 5.6, and what ISO 8601 has besides: no seconds, an offset without its colon.

`postroom.fit_payload` has the same form.
"""
NO_TIME = "is no RFC 3339 time, such as 2026-11-24T09:30:00Z"
NO_OFFSET = "has no time zone: end it with Z, or an offset such as +01:00"
TOO_FAR = "is too far from the present"
FIRST, LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)


def in_utc(at: datetime) -> datetime:
    """The same instant in UTC; raises `ValueError` with the reason."""
    if at.utcoffset() is None:
        raise ValueError(NO_OFFSET)
    try:
        return at.astimezone(UTC)
    except OverflowError:
        raise ValueError(TOO_FAR) from None


def read_instant(said: object) -> datetime:
    """The instant that a text says, or a `datetime` of our own code; raises `ValueError` with the reason.

    A number is no instant: seconds and milliseconds cannot be told apart.
    """
    return in_utc(read_time(said))


def read_bound(said: object) -> datetime:
    """As `read_instant`, for an end of a range: where UTC has no such year, the first or the last instant of all."""
    at = read_time(said)
    try:
        return in_utc(at)
    except ValueError:
        if at.utcoffset() is None:
            raise
    return FIRST if at.year == FIRST.year else LAST


def read_time(said: object) -> datetime:
    """As `read_instant`, with the offset as it was said: a time without one is what some clock shows."""
    if isinstance(said, datetime):
        return said
    form = FORM.fullmatch(said) if isinstance(said, str) else None
    if form is None:
        raise ValueError(NO_TIME)
    try:
        return datetime.fromisoformat(form.string.upper())
    except ValueError:
        raise ValueError(NO_TIME) from None


def written(at: datetime) -> str:
    """An instant as every entry point answers it, the form in which pydantic writes JSON."""
    return f"{in_utc(at).replace(tzinfo=None).isoformat()}Z"
