"""A process that is forked from the prepared Python is what a fresh one would be, but for its libraries."""

import json
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.servers.child_process import ChildProcess, Command
from tests.servers.python_processes import PreparedPython, run_prepared_python, run_python, run_script, spawn_python
from tests.waiting import eventually

SHOW = """
import json, os, sys
rooms = ("domain", "engine", "providers", "settings", "storage", "tasks", "tests")
ours = [name for name in sys.modules if name.split(".")[0] in rooms]
print(json.dumps([sys.argv[1:], os.getcwd(), os.environ["WORD"], "sqlalchemy" in sys.modules, ours, __name__]))
raise SystemExit(7)
"""
FORK = """
import os, signal
print(os.fork(), flush=True)
signal.pause()
"""


@pytest.fixture
def prepared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The session's, or one of the test's own."""
    if PreparedPython.address:
        yield
        return
    with run_prepared_python(tmp_path) as address:
        monkeypatch.setattr(PreparedPython, "address", address)
        yield


@pytest.mark.usefixtures("prepared")
def test_where_its_folder_has_modules_named_as_ours_it_has_none_of_ours(tmp_path: Path) -> None:
    (tmp_path / "show.py").write_text(SHOW)
    (tmp_path / "domain").mkdir()
    status, said = run_python("show", "a", "b", folder=tmp_path, environment={"WORD": "hello"})
    assert status == 7
    assert json.loads(said) == [["a", "b"], str(tmp_path), "hello", True, [], "__main__"]


@pytest.mark.usefixtures("prepared")
@pytest.mark.parametrize("name", ["settings", "shop"])
def test_it_imports_what_is_in_its_folder_and_on_its_path(tmp_path: Path, name: str) -> None:
    for folder in (tmp_path / "here", tmp_path / "there"):
        folder.mkdir()
        (folder / f"{name}.py").write_text("")
        (folder / "where.py").write_text(f"import {name}\nprint({name}.__file__)\n")
    _, said = run_python("where", folder=tmp_path / "here")
    assert said == f"{tmp_path}/here/{name}.py\n"
    _, said = run_python("where", folder=tmp_path, environment={"PYTHONPATH": str(tmp_path / "there")})
    assert said == f"{tmp_path}/there/{name}.py\n"


@pytest.mark.usefixtures("prepared")
def test_a_script_sees_its_own_folder_and_not_where_it_is_run(tmp_path: Path) -> None:
    (tmp_path / "tasks.py").write_text("raise RuntimeError")
    status, said = run_script("postroom", "--version", folder=tmp_path)
    assert (status, said.count("\n")) == (0, 1)


@pytest.mark.usefixtures("prepared")
def test_a_mistake_in_it_ends_it_as_any_other(tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text("raise ValueError('no')\n")
    status, said = run_python("wrong", folder=tmp_path)
    assert status == 1
    assert said.endswith("ValueError: no\n")


@pytest.mark.usefixtures("prepared")
def test_it_is_killed_with_its_children(tmp_path: Path) -> None:
    (tmp_path / "forking.py").write_text(FORK)
    command = Command([sys.executable, "-m", "forking"], folder=tmp_path)
    child = ChildProcess(command, log=tmp_path / "log", spawn=spawn_python)
    child.start()
    eventually(lambda: child.read_log().count("\n") == 2, within=30, describe="both processes")
    forked = next(int(line) for line in child.read_log().split() if line != "0")
    child.sweep()
    assert child.wait(within=10) == -signal.SIGKILL
    eventually(lambda: not Path(f"/proc/{forked}/cmdline").exists(), within=10, describe="the end of its child")
    child.stop()
