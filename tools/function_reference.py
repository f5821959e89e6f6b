"""The page of SQL functions: where each one's living definition stands, for several migrations may have replaced it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tools.reference_text import page, table
from tools.schema_notes import MIGRATIONS

_STATEMENT = re.compile(
    r"(?P<note>(?:^--[^\n]*\n)*)^(?:"
    r"create (?:or replace )?(?P<kind>function|procedure) postroom\.(?P<made>\w+)\b"
    r"|drop (?:function|procedure) postroom\.(?P<dropped>\w+)\b"
    r"|alter (?:function|procedure) postroom\.(?P<old>\w+) rename to (?P<new>\w+))",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Function:
    """One function of the schema `postroom` as it is now."""

    name: str
    file: str
    """The migration's file that defined it last."""
    earlier: tuple[str, ...]
    """Files with definitions that it has replaced, the oldest first."""
    purpose: str


def functions() -> tuple[Function, ...]:
    """Every function that the migrations leave behind, by name."""
    made: dict[str, Function] = {}
    replaced: dict[str, tuple[str, ...]] = {}
    for path in sorted(MIGRATIONS.glob("*.sql")):
        for found in _STATEMENT.finditer(path.read_text(encoding="utf-8")):
            _apply(found, path.stem, made, replaced)
    return tuple(made[name] for name in sorted(made))


def _apply(found: re.Match[str], file: str, made: dict[str, Function], replaced: dict[str, tuple[str, ...]]) -> None:
    if found["dropped"]:
        gone = made.pop(found["dropped"], None)
        if gone is not None:  # it is made anew with other parameters, or it is gone
            replaced[gone.name] = (*gone.earlier, gone.file)
    elif found["old"]:
        moved = made.pop(found["old"])
        made[found["new"]] = Function(found["new"], moved.file, replaced.get(found["new"], ()), moved.purpose)
    else:
        name = found["made"]
        before = made.get(name)
        earlier = replaced.get(name, ()) if before is None else (*before.earlier, before.file)
        note = " ".join(_sentences(found["note"])) or (before.purpose if before else "")
        made[name] = Function(name, file, tuple(one for one in dict.fromkeys(earlier) if one != file), note)


def _sentences(note: str) -> Iterator[str]:
    for line in note.splitlines():
        yield line.removeprefix("--").strip()


def functions_page() -> str:
    """Every function, what it does, and where to read it."""
    rows = [
        (
            f"`{one.name}`",
            f"[`{one.file}`](../../storage/migrations/sql/{one.file}.sql)",
            ", ".join(f"`{file}`" for file in one.earlier) or "-",
            one.purpose,
        )
        for one in functions()
    ]
    opening = (
        "The functions of the schema `postroom`. A migration that has landed is never changed, so a later one defines a"
        " function anew: the file in the second column has the definition that is in force, those in the third have"
        " earlier ones."
    )
    return page("SQL functions", opening, table(("function", "defined in", "before that in", "what it does"), rows))
