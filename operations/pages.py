"""Lists in pages: how many rows, after which one, and the cursor by which the next page is asked for."""

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar
from uuid import UUID

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json

from domain.clean_text import clean_text
from domain.jobs.failures import Invalid

FIELD = "cursor"
FOREIGN = "is no cursor of this list"
LONGEST_CURSOR = 1_000
"""Characters by HTTP: a position of an org and a name of 100 characters has up to 600."""
FIRST_ID = UUID(int=0)
SHOWN_BY_DEFAULT, MOST_SHOWN = 50, 200
"""Rows of a page by HTTP."""

Row = TypeVar("Row")
Item = TypeVar("Item")
Position = TypeVar("Position", bound=tuple[object, ...])


@dataclass(frozen=True, slots=True)
class Page(Generic[Item]):
    """A part of a list; without `next_cursor` the last."""

    items: Sequence[Item]
    next_cursor: str | None
    looked_back_to: datetime | None = None
    """Where it stands, the part ends because enough rows were looked at: older ones were not."""


@dataclass(frozen=True, slots=True)
class Window:
    """Which part of a list is asked for."""

    limit: int
    cursor: str | None = None

    @property
    def rows(self) -> int:
        """How many rows to read: one more than is shown says whether there is a next page."""
        return self.limit + 1

    def after(self, position: type[Position]) -> Position | None:
        """The position of the last row of the page before, a named tuple; raises `Invalid` for a foreign cursor."""
        if self.cursor is None:
            return None
        try:
            document = base64.b64decode(self.cursor + "=" * (-len(self.cursor) % 4), altchars=b"-_", validate=True)
            found = TypeAdapter(position).validate_json(document)
        except (ValueError, ValidationError):
            raise Invalid(FIELD, FOREIGN) from None
        if any(isinstance(value, str) and clean_text(value) != value for value in found):
            raise Invalid(FIELD, FOREIGN)
        return found

    def page(
        self,
        rows: Sequence[Row],
        item: Callable[[Row], Item],
        position: Callable[[Row], Position],
        *,
        reached: datetime | None = None,
    ) -> Page[Item]:
        """The page of the rows that were read; `reached` is for a list whose positions are times and ids."""
        shown = [item(row) for row in rows[: self.limit]]
        if len(rows) > self.limit:
            return Page(shown, write_cursor(position(rows[self.limit - 1])))
        return Page(shown, None if reached is None else write_cursor((reached, FIRST_ID)), reached)


def write_cursor(position: tuple[object, ...]) -> str:
    """The cursor for what follows a position."""
    return base64.urlsafe_b64encode(to_json(position)).decode().rstrip("=")
