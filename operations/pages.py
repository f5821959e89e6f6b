"""Lists in pages: how many rows, after which one, and the cursor by which the next page is asked for."""

import base64
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from operator import attrgetter
from typing import Any, Generic, TypeVar
from uuid import UUID

from pydantic import AwareDatetime, BaseModel, TypeAdapter, ValidationError
from pydantic_core import to_json

from domain.clean_text import clean_text
from domain.jobs.failures import Invalid
from storage.postgres.database import Transaction
from storage.postgres.queries import statement

FIELD = "cursor"
FOREIGN = "is no cursor of this list"
LONGEST_CURSOR = 1_000
"""Characters by HTTP: a position of an org and a name of 100 characters has up to 600."""
FIRST_ID = UUID(int=0)
SHOWN_BY_DEFAULT, MOST_SHOWN = 50, 200
"""Rows of a page by HTTP."""

AFTER = re.compile(r"%\(after_(\w+)\)s")
"""In a statement that lists: a column of its order, by which a page goes on."""

Row = TypeVar("Row")
Item = TypeVar("Item")
Shown = TypeVar("Shown", bound=BaseModel)
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
        return None if self.cursor is None else read_cursor(self.cursor, TypeAdapter(position))

    def records(self, tx: Transaction, name: str, record: type[Shown], /, **parameters: object) -> Page[Shown]:
        """The page of a statement's rows, each of which is a record by the names of its columns.

        The statement goes on after the last row of the page before: `%(after_<column>)s` is the value that this row has
        in a column of the statement's order, or null for the first page. The record has these columns, too.
        """
        last = after_of(name, record, self.cursor)
        rows = tx.run(name, **parameters, **{f"after_{column}": last[column] for column in last}, limit=self.rows)
        return self.page(
            rows,
            lambda row: record.model_validate(row._asdict()),
            lambda row: tuple(attrgetter(column)(row) for column in last),
        )

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


def after_of(name: str, record: type[BaseModel], cursor: str | None) -> Mapping[str, object]:
    """By column of a statement's order: its value in the row after which the page begins, None for the first page."""
    columns, position = _order_of(name, record)
    return dict(zip(columns, [None] * len(columns) if cursor is None else read_cursor(cursor, position), strict=True))


@cache
def _order_of(name: str, record: type[BaseModel]) -> tuple[Sequence[str], TypeAdapter[tuple[object, ...]]]:
    columns = tuple(dict.fromkeys(AFTER.findall(statement(name))))
    kinds = [record.model_fields[column].annotation for column in columns]
    position: Any = tuple[tuple(AwareDatetime if kind is datetime else kind for kind in kinds)]  # type: ignore[misc]  # known when it runs
    return columns, TypeAdapter(position)


def read_cursor(cursor: str, position: TypeAdapter[Position]) -> Position:
    """The position that a cursor names; raises `Invalid` for one of another list."""
    try:
        document = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        found = position.validate_json(document)
    except (ValueError, ValidationError):
        raise Invalid(FIELD, FOREIGN) from None
    if any(isinstance(value, str) and clean_text(value) != value for value in found):
        raise Invalid(FIELD, FOREIGN)
    return found


def write_cursor(position: tuple[object, ...]) -> str:
    """The cursor for what follows a position."""
    return base64.urlsafe_b64encode(to_json(position)).decode().rstrip("=")
