"""What the SQL files say of tables, for the generated reference: names, columns, notes."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MIGRATIONS = Path(__file__).resolve().parent.parent / "storage" / "migrations" / "sql"

_TABLE = re.compile(
    r"(?P<note>(?:^--[^\n]*\n)*)^create table (?P<name>\w+) \(\n(?P<body>.*?)^\)", re.MULTILINE | re.DOTALL
)
_VIEW = re.compile(r"(?P<note>(?:^--[^\n]*\n)*)^create view (?P<name>\w+) ", re.MULTILINE)
_COLUMN = re.compile(
    r"^  (?P<name>[a-z0-9_]+) (?P<kind>(?:postroom\.)?[a-z_]+(?:\(\d+\))?(?:\[\])?)(?P<rest>[^\n]*)$", re.MULTILINE
)
_DOMAIN = re.compile(r"^create domain (?P<name>[a-z_.]+) as (?P<kind>[a-z]+)(?P<checks>[^;]*);", re.MULTILINE)
_FENCE = re.compile(r"call postroom\.fence_\w+\('(?P<table>\w+)'")
_CONSTRAINTS = frozenset({"constraint", "primary", "foreign", "unique", "check", "exclude"})


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its type, and whether it may be null."""

    name: str
    kind: str
    required: bool


@dataclass(frozen=True, slots=True)
class Table:
    """One table; `fenced` when row-level security keeps a tenant to its own rows."""

    name: str
    purpose: str
    columns: tuple[Column, ...]
    fenced: bool


@dataclass(frozen=True, slots=True)
class View:
    """One view, with the sentences before it."""

    name: str
    purpose: str


@dataclass(frozen=True, slots=True)
class Domain:
    """A type of some columns: another type, and what its values must be."""

    name: str
    kind: str
    rule: str


def tables() -> tuple[Table, ...]:
    """Every table that the migrations make, by name."""
    text = _migrations()
    fenced = {found["table"] for found in _FENCE.finditer(text)}
    made = [_table(found, found["name"] in fenced) for found in _TABLE.finditer(text)]
    return tuple(sorted(made, key=lambda table: table.name))


def views() -> tuple[View, ...]:
    """Every view that the migrations make, by name."""
    made = [View(found["name"], _sentence(found["note"])) for found in _VIEW.finditer(_migrations())]
    return tuple(sorted(made, key=lambda view: view.name))


def domains() -> tuple[Domain, ...]:
    """Every domain that the migrations make, by name."""
    made = [
        Domain(found["name"], found["kind"], " ".join(found["checks"].split()))
        for found in _DOMAIN.finditer(_migrations())
    ]
    return tuple(sorted(made, key=lambda domain: domain.name))


def _migrations() -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted(MIGRATIONS.glob("*.sql")))


def _table(found: re.Match[str], fenced: bool) -> Table:  # noqa: FBT001 - a column of the table
    return Table(found["name"], _sentence(found["note"]), tuple(_columns(found["body"])), fenced)


def _columns(body: str) -> Iterator[Column]:
    for found in _COLUMN.finditer(body):
        if found["name"] not in _CONSTRAINTS:
            rest = found["rest"]
            yield Column(found["name"], found["kind"], "not null" in rest or "primary key" in rest)


def _sentence(note: str) -> str:
    return " ".join(line.removeprefix("--").strip() for line in note.splitlines())
