"""What a list has found that looks at a bounded number of rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Generic, TypeVar

Item = TypeVar("Item")

FIRST_TIME, LAST_TIME = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)
"""Bounds for who names none. As values, for a tenant's statement finds nothing by an index where `coalesce` stands."""


@dataclass(frozen=True, slots=True)
class Looked(Generic[Item]):
    """Rows of a list, one more than a page shows where there are more, and since when they were looked for.

    Without `reached`, all there are were looked at. With it, and too few rows for a page, there may be more before it.
    """

    rows: Sequence[Item]
    reached: datetime | None
