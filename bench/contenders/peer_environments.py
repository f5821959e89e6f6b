"""Builds a virtual environment for each peer in `peers.txt`; one that cannot be built is left out, with a reason."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import rmtree, which

LIST = Path(__file__).with_name("peers.txt")
MINUTES = 10
LISTED = "$"
"""Begins the name of a line whose requirements another line takes over."""


@dataclass(frozen=True)
class Line:
    """One peer: what pip installs for it, and the oldest Python that it supports."""

    peer: str
    requirements: tuple[str, ...]
    python: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class Environments:
    """The interpreter of each peer that was built, the versions installed in it, and why others are missing."""

    pythons: Mapping[str, Path]
    versions: Mapping[str, Mapping[str, str]]
    skipped: Mapping[str, str]


def read_lines(text: str) -> tuple[Line, ...]:
    """Parse the list; `ValueError` names a line that is not `peer: requirement ...`, and a name that no line has."""
    lines = [_line(row) for row in text.splitlines() if row.strip() and not row.startswith("#")]
    listed = {line.peer.removeprefix(LISTED): line.requirements for line in lines}
    return tuple(_expanded(line, listed) for line in lines if not line.peer.startswith(LISTED))


def build(folder: Path, peers: set[str] | None = None) -> Environments:
    """Build what is missing under `folder`, for all peers or some; an environment is kept until its line changes."""
    pythons, versions, skipped = {}, {}, {}
    for line in read_lines(LIST.read_text()):
        if peers is not None and line.peer not in peers:
            continue
        try:
            versions[line.peer] = _build_one(folder / line.peer, line)
            pythons[line.peer] = _python_of(folder / line.peer)
        except (OSError, subprocess.SubprocessError, LookupError) as error:
            skipped[line.peer] = reason_of(error)
    return Environments(pythons, versions, skipped)


def find_python(least: tuple[int, int]) -> Path:
    """Our own interpreter if it is new enough, so that peers run on the same, else a newer one, else `LookupError`."""
    if sys.version_info[:2] >= least:
        return Path(sys.executable)
    names = [f"{least[0]}.{minor}" for minor in range(least[1] + 3, least[1] - 1, -1)]
    found = [which(f"python{name}") for name in names]
    pyenv = [str(path) for name in names for path in Path.home().glob(f".pyenv/versions/{name}*/bin/python")]
    for candidate in [*filter(None, found), *pyenv]:
        if _runs(candidate):
            return Path(candidate)
    raise LookupError(f"needs Python {least[0]}.{least[1]} or newer, and none was found")


def _line(row: str) -> Line:
    peer, colon, words = row.partition(":")
    requirements = words.split()
    if not colon or not requirements:
        raise ValueError(f"peers.txt: {row!r} is not `peer: requirement ...`")
    needs = re.fullmatch(r"python>=(\d+)\.(\d+)", requirements[0])
    if needs is None:
        return Line(peer, tuple(requirements))
    return Line(peer, tuple(requirements[1:]), (int(needs[1]), int(needs[2])))


def _expanded(line: Line, listed: Mapping[str, tuple[str, ...]]) -> Line:
    wanted: list[str] = []
    for one in line.requirements:
        name = one.removeprefix(LISTED)
        if name == one:
            wanted.append(one)
        elif name in listed:
            wanted += listed[name]
        else:
            raise ValueError(f"peers.txt: {line.peer}: there is no line {name!r}")
    return replace(line, requirements=tuple(wanted))


def _python_of(folder: Path) -> Path:
    return folder / "bin" / "python"


def _build_one(folder: Path, line: Line) -> dict[str, str]:
    """Build an environment unless it is as its line says; returns the versions installed in it."""
    python, note = _python_of(folder), folder / "installed.json"
    wanted = list(line.requirements)
    if note.exists() and (standing := json.loads(note.read_text()))["wanted"] == wanted:
        return dict(standing["versions"])
    rmtree(folder, ignore_errors=True)
    _run([str(find_python(line.python)), "-m", "venv", str(folder)])
    _run([str(python), "-m", "pip", "--disable-pip-version-check", "--quiet", "install", *line.requirements])
    versions = dict(_freeze(python))
    note.write_text(json.dumps({"wanted": wanted, "versions": versions}))
    return versions


def _freeze(python: Path) -> Iterator[tuple[str, str]]:
    yield "python", _run([str(python), "-c", "import platform; print(platform.python_version())"]).strip()
    for row in _run([str(python), "-m", "pip", "--disable-pip-version-check", "freeze"]).splitlines():
        name, _, version = row.partition("==")
        yield name.lower(), version


def _runs(python: str) -> bool:
    """Whether this is a working Python with `venv`; a version manager's shim may not be."""
    try:
        return "venv" in _run([python, "-c", "import venv; print(venv.__name__)"])
    except (OSError, subprocess.SubprocessError):
        return False


def _run(words: list[str]) -> str:
    return subprocess.run(words, capture_output=True, text=True, check=True, timeout=60 * MINUTES).stdout  # noqa: S603  # our own list


def reason_of(error: Exception) -> str:
    """The line of pip's output that says why an environment could not be built."""
    output = getattr(error, "stderr", None) or str(error)
    lines = [line.strip() for line in str(output).splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR")]
    return (errors or lines or [type(error).__name__])[-1]
