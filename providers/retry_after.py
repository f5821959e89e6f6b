"""How long a provider asks us to wait, read from its header or from its words."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

LONGEST = timedelta(days=31)
"""No answer parks anyone for longer: a wrong header must not stop an account for years."""

_SECONDS = re.compile(r"\d{1,9}(\.\d{1,6})?")
_IN_WORDS = re.compile(
    r"(?:retry after|regain access on) (\d{4}-\d\d-\d\d)(?:T| at )([\d:.]+(?:Z|[+-]\d\d:?\d\d)?)", re.IGNORECASE
)


def header_wait(value: str | None, now: datetime) -> timedelta | None:
    """The wait a `Retry-After` header asks for, as seconds or as an HTTP date (RFC 9110 section 10.2.3).

    None when there is no header or it cannot be read; never negative and never over `LONGEST`.
    """
    if value is None:
        return None
    text = value.strip()
    if _SECONDS.fullmatch(text):
        return _bounded(timedelta(seconds=float(text)))
    return _until(lambda: parsedate_to_datetime(text), now)


def worded_wait(text: str, now: datetime) -> timedelta | None:
    """The wait in a text that names a moment; one without a zone is UTC's.

    Gmail says "Retry after 2025-08-22T18:22:38.763Z", Anthropic "regain access on 2026-12-01 at 00:00 UTC".
    """
    found = _IN_WORDS.search(text)
    return None if found is None else _until(lambda: datetime.fromisoformat(f"{found[1]}T{found[2].rstrip('.')}"), now)


def day_turn(now: datetime) -> datetime:
    """The next midnight in UTC, when daily quotas begin anew."""
    return now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)


def month_turn(now: datetime) -> datetime:
    """The first moment of the next month in UTC, when monthly quotas and spend limits begin anew."""
    first = now.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    return (first + timedelta(days=32)).replace(day=1)


def _until(read: Callable[[], datetime], now: datetime) -> timedelta | None:
    """The wait until a moment that is read; None when there is none, such as one in a year that no calendar has."""
    try:
        moment = read()
        return _bounded((moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)) - now)
    except (ValueError, OverflowError):
        return None


def _bounded(wait: timedelta) -> timedelta:
    return min(max(wait, timedelta()), LONGEST)
