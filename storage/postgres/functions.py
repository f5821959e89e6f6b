"""The functions of the schema `postroom`: a file for each area; which of them a database has otherwise."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FUNCTIONS = Path(__file__).resolve().parent.parent / "functions"

_DEFINITION = re.compile(
    r"^create (?:or replace )?(?:function|procedure) postroom\.(?P<name>\w+)\b.*?\bas \$\$(?P<body>.*?)\$\$;",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Function:
    """One function or procedure: its file, and its body as PostgreSQL keeps it (`pg_proc.prosrc`)."""

    name: str
    area: str
    body: str


@cache
def definitions() -> tuple[Function, ...]:
    """Every function of this release, in the order of the files."""
    return tuple(_read())


def find_differences(bodies: Mapping[str, str]) -> tuple[str, ...]:
    """Which functions of a database are not those of this release, given the bodies that it has by name."""
    wanted = {one.name: one for one in definitions()}
    changed = [f"{one.name} ({one.area}.sql)" for one in wanted.values() if bodies.get(one.name) != one.body]
    return (*changed, *(f"{name} (in no file)" for name in sorted(bodies.keys() - wanted.keys())))


def _read() -> Iterator[Function]:
    for path in sorted(FUNCTIONS.glob("*.sql")):
        for found in _DEFINITION.finditer(path.read_text(encoding="utf-8")):
            yield Function(found["name"], path.stem, found["body"])
