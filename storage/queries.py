"""Loads the statements of `storage/sql`, one verb_noun file each."""

from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent / "sql"


@cache
def statement(name: str) -> str:
    """The statement of that name, as psycopg takes it (`%(name)s` parameters)."""
    return (FOLDER / f"{name}.sql").read_text(encoding="utf-8")


def names() -> tuple[str, ...]:
    """All statements there are."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.sql")))
