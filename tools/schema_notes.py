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
_DOMAIN = re.compile(
    r"^create domain (?P<name>[a-z_.]+) as (?P<kind>double precision|[a-z]+(?:\[\])?)(?:\(\d+\))?(?P<checks>[^;]*);",
    re.MULTILINE,
)
_FENCE = re.compile(r"call postroom\.fence_\w+\('(?P<table>\w+)'")
_ERASURE = re.compile(r"call postroom\.erasure_rule\('(?P<table>\w+)'(?P<rule>.*?)\);\n", re.DOTALL)
_KEEPS = re.compile(r"(?P<whose>org|person)_keeps => (?:'{}'|\$\$(?P<columns>{.*?})\$\$)", re.DOTALL)
_KEPT = re.compile(r'"(\w+)":')
_CONSTRAINTS = frozenset({"constraint", "primary", "foreign", "unique", "check", "exclude"})


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its type, and whether it may be null."""

    name: str
    kind: str
    required: bool


@dataclass(frozen=True, slots=True)
class Table:
    """One table; `fenced` when row-level security keeps a tenant to its own rows; what an erasure does to its rows."""

    name: str
    purpose: str
    columns: tuple[Column, ...]
    fenced: bool
    erasure: str


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
    rules = {found["table"]: found["rule"] for found in _ERASURE.finditer(text)}
    made = [_table(found, found["name"] in fenced, rules.get(found["name"], "")) for found in _TABLE.finditer(text)]
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


def _table(found: re.Match[str], fenced: bool, rule: str) -> Table:  # noqa: FBT001 - a column of the table
    columns = tuple(_columns(found["body"]))
    return Table(found["name"], _sentence(found["note"]), columns, fenced, _erasure(columns, rule))


def _erasure(columns: tuple[Column, ...], rule: str) -> str:
    if "org_rows => null" in rule:
        return "No erasure changes it."
    kept = {
        keeps["whose"]: ", ".join(f"`{name}`" for name in _KEPT.findall(keeps["columns"] or ""))
        for keeps in _KEEPS.finditer(rule)
    }
    own = "person_rows" in rule or {column.name for column in columns} & {"user_id", "account_id"}
    org = _stays(kept["org"]) if "org" in kept else "go"
    person = (_stays(kept["person"]) if "person" in kept else "go") if own else ""
    of_person = f" When a person is erased, theirs {person}." if person else ""
    return f"When an org is erased, its rows {org}.{of_person}"


def _stays(columns: str) -> str:
    return f"stay, with {columns} overwritten" if columns else "stay"


def _columns(body: str) -> Iterator[Column]:
    for found in _COLUMN.finditer(body):
        if found["name"] not in _CONSTRAINTS:
            rest = found["rest"]
            yield Column(found["name"], found["kind"], "not null" in rest or "primary key" in rest)


def _sentence(note: str) -> str:
    return " ".join(line.removeprefix("--").strip() for line in note.splitlines())
