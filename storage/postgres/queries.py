"""Loads the statements of `storage`: those of a module are in `<module>.sql` beside it, each under its name.

What several statements of a file read, return or ask for is in it once, under `-- columns: <what>`, and each of these
statements says `columns(<what>)`; so may other columns below it.
"""

import re
from functools import cache
from pathlib import Path

STORAGE = Path(__file__).resolve().parent.parent
NOT_STATEMENTS = frozenset({"migrations", "functions"})
"""Folders of `storage` whose SQL makes the schema."""

_HEADING = re.compile(r"^-- (name|columns): (\w+)\n", re.MULTILINE)
_COLUMNS = re.compile(r"\bcolumns\((\w+)\)")


@cache
def statement(name: str) -> str:
    """The statement of that name, as psycopg takes it (`%(name)s` parameters)."""
    return statements()[name]


@cache
def statements() -> dict[str, str]:
    """The text of each statement, by name; raises `ValueError` for a name that is used twice."""
    found: dict[str, str] = {}
    for path in statement_files():
        for name, text in statements_of(path).items():
            if name in found:
                raise ValueError(f"two statements are named {name}, one of them in {path}")
            found[name] = text
    return found


def statement_files() -> list[Path]:
    """The files that hold statements."""
    return [path for path in sorted(STORAGE.rglob("*.sql")) if NOT_STATEMENTS.isdisjoint(path.parts)]


def statements_of(path: Path) -> dict[str, str]:
    """The statements of a file by name, in its order; raises `ValueError` for text that is under no name.

    Raises `KeyError` for columns that the file does not have.
    """
    before, *rest = _HEADING.split(path.read_text(encoding="utf-8"))
    if before.strip():
        raise ValueError(f"{path} begins without a `-- name:`")
    parts = list(zip(rest[::3], rest[1::3], (text.rstrip() for text in rest[2::3]), strict=True))
    columns: dict[str, str] = {}
    for kind, name, text in parts:
        if kind == "columns":
            columns[name] = _COLUMNS.sub(lambda found: columns[found[1]], text)
    return {
        name: _COLUMNS.sub(lambda found: columns[found[1]], text) + "\n" for kind, name, text in parts if kind == "name"
    }
