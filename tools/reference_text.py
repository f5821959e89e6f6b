"""The text of the generated reference: pages, tables, spans of time, and the notes that stand beside code."""

import ast
import inspect
import textwrap
from collections.abc import Iterable, Sequence
from datetime import timedelta
from itertools import pairwise

NOTE = "<!-- Written by `make docs` from the code. Change the code, not this page. -->"

UNITS = ((86400.0, "day"), (3600.0, "hour"), (60.0, "minute"), (1.0, "second"))


def page(title: str, opening: str, *parts: str) -> str:
    """A whole page of Markdown."""
    return "\n\n".join((NOTE, f"# {title}", opening, *parts)) + "\n"


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table of Markdown; a bar inside a cell would end it, so it is escaped."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines)


def span(length: timedelta) -> str:
    """A length of time in the largest unit that divides it."""
    seconds = length.total_seconds()
    size, unit = next(((size, unit) for size, unit in UNITS if seconds >= size and seconds % size == 0), UNITS[-1])
    count = seconds / size
    return f"{count:g} {unit}" + ("" if count == 1 else "s")


def phrase(docstring: str | None) -> str:
    """A docstring as one line."""
    return " ".join((docstring or "").split())


def member_notes(kind: type) -> dict[str, str]:
    """The notes that stand below the members of a class, by member name."""
    body = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    statements = body.body if isinstance(body, ast.ClassDef) else []
    notes = {}
    for member, below in pairwise(statements):
        match member, below:
            case ast.Assign(targets=[ast.Name(id=name)]), ast.Expr(value=ast.Constant(value=str(note))):
                notes[name] = phrase(note)
    return notes
