"""Loads the statements of `storage`: those of a module stand in `<module>.sql` beside it, each under its name."""

import re
from functools import cache
from pathlib import Path

STORAGE = Path(__file__).resolve().parent.parent
NOT_STATEMENTS = frozenset({"migrations", "functions"})
"""Folders of `storage` whose SQL makes the schema."""

_HEADING = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)


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
    """The statements of a file by name, in its order; raises `ValueError` for text that stands under no name."""
    before, *rest = _HEADING.split(path.read_text(encoding="utf-8"))
    if before.strip():
        raise ValueError(f"{path} begins without a `-- name:`")
    return {name: text.rstrip() + "\n" for name, text in zip(rest[::2], rest[1::2], strict=True)}
