"""Draws the rooms of the house and their imports into README.md: `python -m tools.house_picture` (`make docs`)."""

import re
from collections.abc import Collection, Mapping

from tests.house.reading import ROOT
from tests.house.test_rooms import MAY_IMPORT

README = ROOT / "README.md"
BLOCK = re.compile(r"(?<=<!-- rooms: written by make docs -->\n)```mermaid\n.*?```\n", re.DOTALL)

HOLDS = {
    "commands": "celery -A tasks ...",
    "tasks": "what jobs do",
    "engine": "how jobs run",
    "gateway": "HTTP",
    "operations": "what people list and do",
    "providers": "the outside world",
    "observability": "logs, metrics, traces",
    "storage": "the only SQL",
    "domain": "rules, without I/O",
    "settings": "the environment",
}
"""The rooms that are drawn, from the top, each with what it holds."""

BESIDE = frozenset({"beat_schedule", "celeryconfig", "sandbox", "bench", "clients", "examples", "tests", "tools"})
"""Rooms that are not drawn: two files of configuration, what services install or copy, and what is not installed."""

Table = Mapping[str, Collection[str]]


def main() -> None:
    """Write the picture into the README."""
    README.write_text(redrawn(README.read_text()))


def redrawn(text: str) -> str:
    """The README's text with the picture of today; raises ValueError without the place for it."""
    found, times = BLOCK.subn(picture(MAY_IMPORT), text)
    if times != 1:
        message = f"README.md has {times} places for the picture of the rooms"
        raise ValueError(message)
    return found


def picture(table: Table) -> str:
    """The rooms of the import table as a Mermaid block."""
    rooms = [f'    {room}["<b>{room}</b><br/>{what}"]' for room, what in HOLDS.items()]
    lines = [f"    {room} --> {below}" for room, below in arrows(table)]
    return "\n".join(["```mermaid", "flowchart TD", *rooms, *lines, "```", ""])


def arrows(table: Table) -> list[tuple[str, str]]:
    """Who imports whom, without the arrows that follow from others."""
    direct = {room: _rooms(table.get(room, ())) & set(HOLDS) - {room} for room in HOLDS}
    reached = {room: _reached(room, direct) for room in HOLDS}
    return [
        (room, below)
        for room in HOLDS
        for below in HOLDS
        if below in direct[room] and not any(below in reached[other] for other in direct[room] - {below})
    ]


def forgotten(table: Table) -> set[str]:
    """Rooms of the table that the picture neither draws nor leaves out on purpose."""
    return _rooms(table) - set(HOLDS) - BESIDE


def _rooms(names: Collection[str]) -> set[str]:
    return {name.partition(".")[0] for name in names}


def _reached(room: str, direct: Mapping[str, set[str]]) -> set[str]:
    below = direct.get(room, set())
    return below.union(*(_reached(other, direct) for other in below))


if __name__ == "__main__":
    main()
