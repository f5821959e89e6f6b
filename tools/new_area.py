"""Begins a new area: `python -m tools.new_area NAME` (`make new-area N=name`).

Writes the files of `tools/area_template` with the area's name, and names the area where the house lists areas. What is
written runs as it stands: a table of entries, a list of them, a deed that adds one, and a job that finishes it.
"""

import keyword
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from string import Template

from tools.new_job import ROOT, WORD, format_files

TEMPLATE = Path(__file__).parent / "area_template"
LONGEST = 30
"""Letters of a name: names of tables, statements and indexes are made of it."""

LINES = (
    ("storage/migrations/versions/0001_pre_baseline.py", r' +"0001_\w+",\n', '        "0001_$area",\n'),
    ("pyproject.toml", r'\w+ = "commands\.operations:.*\n', '$area = "commands.operations:AREAS.$area"\n'),
    ("docs/README.md", r"\* .*\(explanation/approvals\.md\)\n", "* [$Title](explanation/$area.md)\n"),
    (
        "tests/storage/postgres/row_makers.py",
        r"ROW_MAKERS = \{\n(?:.*\n)*?(?=\}\n)",
        """    "$area": "insert into $area (org_id, text) values (%(org)s, 'x')",\n""",
    ),
    (
        "tests/sweep/scenarios.py",
        r"(?<=\n)(?=from tests\.sweep\.prepared\.places)",
        "from tests.sweep.prepared.$area import unfinished_entry_of_$area\n",
    ),
    (
        "tests/sweep/scenarios.py",
        r"SCENARIOS: .* = \{\n(?:.*\n)*?(?=\}\n)",
        '    "$area.finish": {"entry": unfinished_entry_of_$area},\n',
    ),
)
"""Files that list the areas, each with the pattern after whose last match a line is added, and the line."""


def begin(root: Path, area: str) -> list[Path]:
    """Write the scaffold of an area into a checkout; returns the files that were written.

    Raises `ValueError` for a name that is no plain word or is taken; nothing is written then.
    """
    title = area.capitalize().replace("_", " ")
    words = {"area": area, "AREA": area.upper(), "Area": area.title().replace("_", ""), "Title": title}
    templates = sorted(TEMPLATE.rglob("*.txt"))
    texts = {root / _target(path, area): _filled(path.read_text(encoding="utf-8"), words) for path in templates}
    _check(area, texts)
    listed: dict[Path, str] = {}
    for name, pattern, line in LINES:
        text = listed.get(root / name) or (root / name).read_text(encoding="utf-8")
        *_, last = re.finditer(pattern, text)
        listed[root / name] = text[: last.end()] + _filled(line, words) + text[last.end() :]
    for path, text in (texts | listed).items():
        path.write_text(text, encoding="utf-8")
    format_files(root, [path for path in (*texts, *listed) if path.suffix == ".py"])
    return list(texts)


def _target(template: Path, area: str) -> str:
    """Where the file of a template goes, from the root of the checkout."""
    return template.relative_to(TEMPLATE).as_posix().removesuffix(".txt").replace("AREA", area)


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
        written = begin(ROOT, *arguments[:1] or [""])
    except ValueError as problem:
        sys.stderr.write(f"make new-area: {problem}\n")
        return 1
    for path in written:
        sys.stdout.write(f"written, to be filled in: {path.relative_to(ROOT)}\n")
    sys.stdout.write("then: make install golden rights docs\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
