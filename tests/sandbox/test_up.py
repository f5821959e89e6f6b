"""What `make up` writes down about a local stack, and what `make down` does when there is none."""

import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import psutil

from sandbox.demo.processes import ROOT
from sandbox.up import State, exports, read_state

ENVIRONMENT = {"POSTROOM_BROKER_URL": "redis://127.0.0.1:1/0", "POSTROOM_GOOGLE_CLIENT_SECRET": "it's odd"}


def remember(folder: Path, *, started_at: float, beat: int = 1) -> State:
    state = State(os.getpid(), started_at, {"beat": beat}, {"gateway": "http://127.0.0.1:2"}, ENVIRONMENT)
    (folder / "state.json").write_text(json.dumps(asdict(state)))
    return state


def test_a_local_stack_whose_keeper_lives_is_up(tmp_path: Path) -> None:
    assert read_state(tmp_path) is None
    state = remember(tmp_path, started_at=psutil.Process().create_time())
    assert read_state(tmp_path) == state


def test_another_process_of_the_same_number_is_no_keeper(tmp_path: Path) -> None:
    remember(tmp_path, started_at=1.0)
    assert read_state(tmp_path) is None


def test_processes_that_have_ended_are_named(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])  # our own interpreter
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
    state = State(os.getpid(), 1.0, {"beat": ended.pid, "relay": os.getpid()}, {}, {})
    assert state.dead == ["beat"], "a zombie"
    ended.wait()
    assert state.dead == ["beat"], "gone"
    (tmp_path / "up").mkdir()
    remember(tmp_path / "up", started_at=psutil.Process().create_time(), beat=ended.pid)
    command = [sys.executable, "-m", "sandbox.up", "--folder", str(tmp_path / "up")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603  # our own command
    assert done.returncode == 1
    assert "not running any more: beat" in done.stdout + done.stderr


def test_the_exports_survive_a_shell() -> None:
    script = exports(ENVIRONMENT) + '\nprintf "%s|%s" "$POSTROOM_BROKER_URL" "$POSTROOM_GOOGLE_CLIENT_SECRET"'
    done = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, check=True)  # noqa: S603  # as above
    assert done.stdout == "redis://127.0.0.1:1/0|it's odd"


def test_the_exports_let_a_shell_find_celery() -> None:
    script = exports(ENVIRONMENT) + "\ncommand -v celery"
    done = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, check=True)  # noqa: S603  # as above
    assert Path(done.stdout.strip()).samefile(Path(sys.executable).with_name("celery"))


def test_down_with_nothing_up_is_no_error(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sandbox.up", "--down", "--folder", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603  # our own command
    assert (done.returncode, done.stderr) == (0, "")
    assert "Nothing is up" in done.stdout
