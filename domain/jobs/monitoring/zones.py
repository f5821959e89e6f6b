"""In which spans of time a list has to look for jobs, and in which there are none: the history knows when any came."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

SLACK = timedelta(minutes=2)
"""How far the time in a job's id may lie outside of the span in which its enqueueing was counted. A job of which they
differ by more than a minute is found by `jobs.foreign_at`; the rest is for a batch that takes its time."""


@dataclass(frozen=True, slots=True)
class Zone:
    """A span of time, without its end."""

    starts: datetime
    ends: datetime


@dataclass(frozen=True, slots=True)
class ZoneMap:
    """Where jobs may be, the newest zone first; and how far back that is known, None: to the beginning."""

    zones: tuple[Zone, ...]
    reached: datetime | None


def zone_map(
    counted: Iterable[Zone], *, counted_to: datetime, kept_since: datetime | None, everything: Zone
) -> ZoneMap:
    """The map of the spans in which jobs were counted.

    What came after `counted_to` is not counted yet. The spans before `kept_since` are no longer kept; None: there are
    more spans than were read, and those are the newest ones.
    """
    spans = [Zone(one.starts - SLACK, one.ends + SLACK) for one in counted]
    spans.append(Zone(counted_to - SLACK, everything.ends))
    reached = None
    if kept_since is None:
        reached = min(one.starts for one in spans)
    else:
        spans.append(Zone(everything.starts, kept_since + SLACK))
    return ZoneMap(tuple(_merged(spans)), reached)


def _merged(spans: Iterable[Zone]) -> list[Zone]:
    """The same spans, those that touch each other as one, the newest first."""
    merged: list[Zone] = []
    for one in sorted(spans, key=lambda span: span.ends, reverse=True):
        if merged and one.ends >= merged[-1].starts:
            merged[-1] = Zone(min(one.starts, merged[-1].starts), merged[-1].ends)
        else:
            merged.append(one)
    return merged
