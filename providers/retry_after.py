"""How long a provider asks us to wait, read from its header or from its words."""

import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

LONGEST = timedelta(days=31)
"""No answer parks anyone for longer: a wrong header must not stop an account for years."""

_SECONDS = re.compile(r"\d{1,9}(\.\d{1,6})?")
_IN_WORDS = re.compile(r"retry after (\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:?\d\d)?)", re.IGNORECASE)


def header_wait(value: str | None, now: datetime) -> timedelta | None:
    """The wait a `Retry-After` header asks for, as seconds or as an HTTP date (RFC 9110 section 10.2.3).

    None when there is no header or it cannot be read; never negative and never over `LONGEST`.
    """
    if value is None:
        return None
    text = value.strip()
    if _SECONDS.fullmatch(text):
        return _bounded(timedelta(seconds=float(text)))
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    return _bounded(_aware(moment) - now)


def worded_wait(text: str, now: datetime) -> timedelta | None:
    """The wait in a text such as `Retry after 2025-08-22T18:22:38.763Z` (Gmail says it there, not in a header)."""
    found = _IN_WORDS.search(text)
    if found is None:
        return None
    try:
        moment = datetime.fromisoformat(found[1].rstrip("."))
    except ValueError:
        return None
    return _bounded(_aware(moment) - now)


def _aware(moment: datetime) -> datetime:
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _bounded(wait: timedelta) -> timedelta:
    return min(max(wait, timedelta()), LONGEST)
