"""A reader of the pages, in a copy of the repository."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.recipes.machine import Machine
from tests.tools.house_copy import make_copy


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A repository of the reader's own, whose Python is the one of this test: `make` would install the same packages.

    The folder `.venv` is the copy's own, for `make` clears it where it finds it too old.
    """
    copy = make_copy(tmp_path)
    python = copy / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    for mark in (".locked", ".installed"):
        (copy / ".venv" / mark).touch()
    return copy


@pytest.fixture
def reader(copy: Path, tmp_path: Path) -> Iterator[Machine]:
    """Who reads a page, and stops the fleet in any case."""
    with ExitStack() as stack:
        given = {
            "PYTHONPATH": str(copy),
            "PYTEST_ADDOPTS": f"--basetemp={tmp_path}/nested",
        }
        exports = "\n".join(f"export {name}={value}" for name, value in given.items())
        machine = Machine(tmp_path, stack, folder=copy, exports=exports)
        stack.callback(machine.run, "make down")
        yield machine
