"""Time zones that a calendar file defines, with their changes looked up in a table.

The package walks through all changes since the first for each time that it compares: some eight hundred for a zone as
Outlook writes it, whose rules begin in 1601.
"""

from bisect import bisect_right
from collections.abc import Iterator
from datetime import datetime, timedelta, tzinfo
from typing import Any

from dateutil.tz.tz import _tzicalvtz  # type: ignore[attr-defined]  # of which all zones of a file are made
from icalendar.timezone.zoneinfo import ZONEINFO

from domain.payloads.planning import LAST_YEAR

NOTHING = timedelta(0)
EARLIEST = datetime(2, 1, 1)  # noqa: DTZ001 - what clocks show
"""No event has a time near the year 1, from which nothing can be taken away."""


class _FileZone(_tzicalvtz):  # type: ignore[misc]  # dateutil has no types for it
    """A time zone of a file: as dateutil reads it, with another way to find the part that counts at a time."""

    def __init__(self, tzid: str, parts: list[Any]) -> None:
        super().__init__(tzid, parts)
        self._parts = parts
        self._tables: dict[bool, tuple[list[datetime], list[Any]]] = {}

    def __deepcopy__(self, memo: object) -> "_FileZone":
        """A zone never changes; its tables are made once."""
        return self

    def _find_comp(self, dt: datetime) -> Any:  # noqa: ANN401 - dateutil's class
        fold = bool(dt.fold)
        if fold not in self._tables:
            self._tables[fold] = self._table(fold=fold)
        times, parts = self._tables[fold]
        index = bisect_right(times, dt.replace(tzinfo=None, fold=0))
        return parts[index - 1] if index else self._before_all()

    def _table(self, *, fold: bool) -> tuple[list[datetime], list[Any]]:
        """From when on which part counts, by the clocks.

        The second time that clocks show an hour, a part that sets them back counts already.
        """
        times, counting = list[datetime](), list[Any]()
        latest: datetime | None = None
        changes = [
            (max(onset, EARLIEST) + (min(part.tzoffsetdiff, NOTHING) if fold else NOTHING), onset, -index, part)
            for index, part in enumerate(self._parts)
            for onset in _onsets(part)
        ]
        for time, onset, _, part in sorted(changes, key=lambda change: change[:3]):
            if latest is None or onset >= latest:
                latest = onset
                times.append(time)
                counting.append(part)
        return times, counting

    def _before_all(self) -> Any:  # noqa: ANN401 - dateutil's class
        return next((part for part in self._parts if not part.isdst), self._parts[0])


def _onsets(part: Any) -> Iterator[datetime]:  # noqa: ANN401 - dateutil's class
    for onset in part.rrule:
        if onset.year > LAST_YEAR:
            return
        yield onset


class FileZones(ZONEINFO):
    """The package's provider of time zones, with tables for those of a file."""

    def create_timezone(self, tz: Any) -> tzinfo:  # type: ignore[override]  # noqa: ANN401 - as ZONEINFO has it
        """The zone of a VTIMEZONE."""
        made: Any = super().create_timezone(tz)
        return _FileZone(made._tzid, made._comps)  # noqa: SLF001 - the package copies a zone in the same way
