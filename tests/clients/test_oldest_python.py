"""The client says which Python it needs, and uses nothing that is newer."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.house.reading import ROOT

PACKAGE = ROOT / "clients" / "python"
SINCE = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]["requires-python"].removeprefix(">=")


def newer(folder: Path) -> str:
    """What needs a newer Python than the client says; empty where nothing does."""
    vermin = str(Path(sys.executable).with_name("vermin"))
    words = [vermin, f"--target={SINCE}-", "--violations", "--no-tips", "--quiet", str(folder)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)  # noqa: S603 - our own arguments
    assert done.stderr == ""
    return done.stdout if done.returncode else ""


def test_the_package_needs_no_newer_python_than_it_says() -> None:
    assert SINCE == "3.9"
    assert newer(PACKAGE / "postroom_client") == ""
    whole = tomllib.loads((ROOT / "pyproject.toml").read_text())
    by_the_linter = whole["tool"]["ruff"]["per-file-target-version"]["clients/python/**"]
    assert by_the_linter == f"py{SINCE.replace('.', '')}"


@pytest.mark.parametrize(
    "code",
    [
        "from datetime import UTC",
        "match 1:\n    case _: pass",
        "import tomllib",
        "from itertools import pairwise",
    ],
)
def test_what_is_newer_is_found(tmp_path: Path, code: str) -> None:
    (tmp_path / "newer.py").write_text(f"{code}\n")
    assert "newer.py" in newer(tmp_path)
