"""Loads the statements of `storage`: one verb_noun file each, in the `sql` folder beside the modules that run them."""

from functools import cache
from pathlib import Path

STORAGE = Path(__file__).resolve().parent.parent


@cache
def statement(name: str) -> str:
    """The statement of that name, as psycopg takes it (`%(name)s` parameters)."""
    return statement_files()[name].read_text(encoding="utf-8")


@cache
def statement_files() -> dict[str, Path]:
    """The file of each statement, by name; raises `ValueError` for a name that stands in two folders."""
    files: dict[str, Path] = {}
    for path in sorted(STORAGE.glob("*/sql/*.sql")):
        if path.parent.parent.name == "migrations":
            continue
        if path.stem in files:
            raise ValueError(f"two statements are named {path.stem}: {files[path.stem]} and {path}")
        files[path.stem] = path
    return files
