"""How a backfill searches for older mail and spreads it over time, so that it never delays today's mail."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Literal

from domain.jobs.failures import Invalid
from domain.jobs.scheduling.limits import limits_of
from domain.payloads.gmail import MOST_AT_ONCE, BackfillPayload

SHARE = "gmail_backfill"
"""The provider under whose name a backfill's calls are counted, beside Gmail's own (docs: gmail.md#quotas)."""

FETCH_UNITS = 20
"""Of Gmail's quota, for a message (docs: gmail.md#quotas)."""

PRIORITY = -10
"""Below everything that somebody waits for; the lowest that a tenant may ask for."""

MOST_RESTARTS = 5
"""How often a search begins anew because its page token has expired: each time, what is stored is passed over."""

MOST_PAGES_AT_ONCE = 40
"""Pages that one attempt reads while they name nothing new: 200 units, and well within its deadline."""


def check_wish(payload: BackfillPayload, now: datetime) -> None:
    """Raise `Invalid` with the field and the reason for a search that cannot be meant."""
    if not payload.query.isprintable():
        raise Invalid("payload.query", "carries a control character")
    for field, at in (("since", payload.since), ("until", payload.until)):
        if at is not None and at.tzinfo is None:
            raise Invalid(f"payload.{field}", "has no time zone")
    if payload.since is not None and payload.since > now:
        raise Invalid("payload.since", "is in the future")
    if payload.since is not None and payload.until is not None and payload.until <= payload.since:
        raise Invalid("payload.until", "is not after since")


def search_words(query: str, since: datetime | None, until: datetime) -> str:
    """What Gmail is asked. Its OR binds more tightly than the blank between two words (docs: gmail.md#search)."""
    after = [] if since is None else [f"after:{int(since.timestamp())}"]
    # Gmail compares whole seconds.
    return " ".join(filter(None, (query.strip(), *after, f"before:{int(until.timestamp()) + 1}")))


def is_wanted(received_at: datetime, since: datetime | None, until: datetime) -> bool:
    """Whether a message is in the window; a query with words of its own may find others."""
    return received_at <= until and (since is None or received_at >= since)


def after_page(*, ordered: int, most: int, more: bool) -> Literal["listing", "listed", "cut"]:
    """How far a search has come after a page: so many messages are ordered, and more pages follow."""
    if ordered >= most:
        return "cut"
    return "listing" if more else "listed"


def batches(message_ids: Sequence[str]) -> Iterator[list[str]]:
    """The messages in the order given, a few at a time."""
    return (list(message_ids[start : start + MOST_AT_ONCE]) for start in range(0, len(message_ids), MOST_AT_ONCE))


def spacing() -> timedelta:
    """How far apart batches are due, so that they take no more than their share when none is late."""
    (share,) = limits_of(SHARE)
    return share.per * (MOST_AT_ONCE * FETCH_UNITS / share.amount)
