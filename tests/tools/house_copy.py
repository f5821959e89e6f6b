"""A copy of the repository for tests of what begins files in it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.house.reading import ROOT

NOT_COPIED = shutil.ignore_patterns(".git", ".venv", "build", "*.egg-info", "__pycache__", ".*_cache", ".hypothesis")


def make_copy(folder: Path) -> Path:
    """A copy of the repository in a folder, whose files a test may change."""
    copy = folder / "postroom"
    shutil.copytree(ROOT, copy, ignore=NOT_COPIED)
    if (ROOT / ".mypy_cache").exists():  # what mypy knows of unchanged files; a minute less
        shutil.copytree(ROOT / ".mypy_cache", copy / ".mypy_cache")
    return copy


def run(copy: Path, *command: str) -> str:
    """Run a module of Python in the copy; returns what it prints, and fails with that where it fails."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(  # noqa: S603  # our own tools
        [sys.executable, "-m", *command], cwd=copy, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def files(copy: Path) -> dict[str, bytes]:
    """Every file of the copy that is not built."""
    built = {"__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis"}
    paths = [path for path in copy.rglob("*") if path.is_file() and not built & set(path.parts)]
    return {str(path.relative_to(copy)): path.read_bytes() for path in paths}
