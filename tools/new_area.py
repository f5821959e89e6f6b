"""Begins a new area: `python -m tools.new_area NAME SYSTEM` (`make new-area N=name S=system`).

Writes the files of `tools/area_template` with the area's name into the rooms of its system.
What is written runs as it stands: a table of entries, a list of them, a deed that adds one, and a job that finishes it.
"""

import keyword
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from string import Template

from tools.new_job import ROOT, WORD, format_files, systems

TEMPLATE = Path(__file__).parent / "area_template"
LONGEST = 30
"""Letters of a name: names of tables, statements and indexes are made of it."""

LAST_TABLE = re.compile(r"(?<=\n## Tables\n)(?:.*\n)*?(?:\|.*\n)+")
"""What the page of a system says before the line of a new table."""


def begin(root: Path, area: str, system: str) -> list[Path]:
    """Write the scaffold of an area into a checkout; returns the files that were written.

    Raises `ValueError` for an unknown system and a name that is no plain word or is taken; nothing is written then.
    """
    if system not in systems(root):
        raise ValueError(f"S={system!r} is no system: name one of {', '.join(systems(root))}")
    title = area.capitalize().replace("_", " ")
    words = {"area": area, "AREA": area.upper(), "Area": area.title().replace("_", ""), "Title": title}
    words["system"] = system
    templates = sorted(TEMPLATE.rglob("*.txt"))
    texts = {root / _target(path, words): _filled(path.read_text(encoding="utf-8"), words) for path in templates}
    _check(area, texts)
    page = root / f"docs/explanation/{system}.md"
    _add_line(page, LAST_TABLE, f"| `{area}` | an entry, which `celery -A tasks {area}` adds and lists |\n")
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")
    format_files(root, [path for path in texts if path.suffix == ".py"])
    return list(texts)


def _add_line(path: Path, after: re.Pattern[str], line: str) -> None:
    """Add a line to a file, after the last place that is found."""
    text = path.read_text(encoding="utf-8")
    *_, last = after.finditer(text)
    path.write_text(text[: last.end()] + line + text[last.end() :], encoding="utf-8")


def _target(template: Path, words: Mapping[str, str]) -> str:
    """Where the file of a template goes, from the root of the checkout."""
    path = template.relative_to(TEMPLATE).as_posix().removesuffix(".txt")
    return path.replace("SYSTEM", words["system"]).replace("AREA", words["area"])


def _filled(text: str, words: Mapping[str, str]) -> str:
    return Template(text).substitute(words)


def _check(area: str, texts: Mapping[Path, str]) -> None:
    if not WORD.fullmatch(area) or keyword.iskeyword(area):
        raise ValueError(f"N={area!r} is no name: write lower-case words joined by underscores")
    if len(area) > LONGEST:
        raise ValueError(f"N={area} has {len(area)} letters; an area has at most {LONGEST}")
    for path in texts:
        for taken in (path, path.with_suffix("")):
            if taken.exists():
                raise ValueError(f"N={area}: {taken} is there already")


def main(arguments: list[str]) -> int:
    """Begin the area that the command line names; returns the exit status."""
    try:
        area, system, *_ = [*arguments, "", ""]
        written = begin(ROOT, area, system)
    except ValueError as problem:
        sys.stderr.write(f"make new-area: {problem}\n")
        return 1
    for path in written:
        sys.stdout.write(f"written, to be filled in: {path.relative_to(ROOT)}\n")
    sys.stdout.write("then: make golden rights docs\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
