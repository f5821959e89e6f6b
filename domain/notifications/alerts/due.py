"""Which alerts are due, from the rows of the ledger; the same state gives the same alerts at each look."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from domain.jobs.effects import Doubt
from domain.notifications.alerts.alert import Alert, AlertKind

WINDOW = timedelta(hours=1)
"""A job type raises two alerts in it at most: one for the first death, one with the number when it is over. A person
who reads the first mends the cause; an hour is about what that takes."""

MOST_TYPES = 20
"""Job types with alerts of their own per window. Messages may name types that nobody knows, each another one; the rest
is one number when the window is over."""

OTHERS = "(other types)"
MESSAGES = "messages"
"""What an alert about refused messages is about. It repeats nothing of them: a name in them may be a secret."""

REMIND_EVERY = timedelta(hours=24)
"""A provider that still refuses is named once a day: a spent month may last for weeks."""

LONG_PARK = timedelta(minutes=10)
"""A provider's limit per minute passes by itself; who refuses for longer waits for a person."""

SILENT = frozenset({"deadletter.send_alert", "deadletter.quarantine"})
"""Job types whose death raises no alert: an alert that cannot be delivered would raise the next one, and so on."""

ABOUT_NOTIFICATIONS = "notifications."
"""Job types whose death no notification tells of: that would meet the same fault. An alert does."""


def is_told_to_the_org(job_type: str) -> bool:
    """Whether the people of the org hear of the death of its job."""
    return job_type not in SILENT and not job_type.startswith(ABOUT_NOTIFICATIONS)


@dataclass(frozen=True, slots=True)
class LetterCount:
    """The open dead letters of one job type and window."""

    job_type: str
    since: datetime
    count: int
    first_id: str
    first_code: str


@dataclass(frozen=True, slots=True)
class ClosedGate:
    """A provider's closed gate."""

    provider: str
    reason: str
    closed_at: datetime
    until: datetime


@dataclass(frozen=True, slots=True)
class FirstRefusal:
    """The first message of a window that was refused."""

    since: datetime
    id: int


def window_of(moment: datetime, length: timedelta = WINDOW) -> datetime:
    """The begin of the window that a moment falls in; windows are counted from the epoch, so all agree on them."""
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    return epoch + (moment - epoch) // length * length


def look_from(now: datetime) -> datetime:
    """From when on dead letters matter: the window before this one may still have to be counted."""
    return window_of(now) - WINDOW


def alerts_due(
    counts: Iterable[LetterCount], parks: Iterable[ClosedGate], now: datetime, refused: Iterable[FirstRefusal] = ()
) -> tuple[Alert, ...]:
    """Every alert that should have been raised by now; one that has been is known by its kind, subject and time."""
    return (
        *_of_all_letters(counts, now),
        *(one for each in parks for one in _of_park(each, now)),
        *(Alert(AlertKind.REFUSED, MESSAGES, one.since, reference=str(one.id)) for one in refused),
    )


def _of_all_letters(counts: Iterable[LetterCount], now: datetime) -> Iterator[Alert]:
    windows: dict[datetime, list[LetterCount]] = {}
    # By the first letter: the ids follow time, so a type that comes later takes nobody's place.
    for each in sorted(counts, key=lambda one: one.first_id):
        if each.job_type not in SILENT:
            windows.setdefault(each.since, []).append(each)
    for since, found in windows.items():
        for each in found[:MOST_TYPES]:
            yield from _of_letters(each, now)
        others = sum(each.count for each in found[MOST_TYPES:])
        if others and since + WINDOW <= now:
            yield Alert(AlertKind.DEAD_LETTERS, OTHERS, since, count=others)


def _of_letters(counted: LetterCount, now: datetime) -> Iterator[Alert]:
    yield Alert(
        AlertKind.DEAD_LETTER, counted.job_type, counted.since, detail=counted.first_code, reference=counted.first_id
    )
    if counted.count > 1 and counted.since + WINDOW <= now:
        yield Alert(AlertKind.DEAD_LETTERS, counted.job_type, counted.since, count=counted.count)


def _of_park(park: ClosedGate, now: datetime) -> Iterator[Alert]:
    if is_long(park) and park.until > now:
        yield Alert(AlertKind.PROVIDER, park.provider, window_of(now, REMIND_EVERY), detail=park.reason)


def alert_of_org(org_id: UUID, provider: str, reason: str, now: datetime) -> Alert:
    """The alert of a provider that refuses one org for long, as for a spent quota: once a day while it lasts."""
    subject = f"{provider} of org {org_id}"
    return Alert(
        AlertKind.PROVIDER, subject, window_of(now, REMIND_EVERY), detail=reason, reference=f"{org_id}:{provider}"
    )


def is_long(park: ClosedGate) -> bool:
    """Whether a person should look at it."""
    return park.until - park.closed_at >= LONG_PARK


def alerts_of_doubts(doubts: Iterable[Doubt]) -> tuple[Alert, ...]:
    """An alert per job type and day of the calls that are in doubt: the same doubts give the same alerts each time."""
    found: dict[tuple[str, datetime], list[Doubt]] = {}
    for each in doubts:
        found.setdefault((each.job_type or OTHERS, window_of(each.since, REMIND_EVERY)), []).append(each)
    return tuple(
        Alert(AlertKind.EFFECTS, subject, day, count=len(some), detail=some[0].key, reference=str(some[0].job_id))
        for (subject, day), some in found.items()
    )
