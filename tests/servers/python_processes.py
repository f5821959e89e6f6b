"""How tests start programs of Python: forked from a prepared Python if the session has one, else as a user does.

A session of `make test` has one, shared by all of pytest-xdist's workers. With `make one` there is none, and each
process is started by its command line; so are, in every session, the demo's, chaos's and those of some commands.
"""

import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from uuid import uuid4

from sandbox.servers.child_process import MARK, Child, ChildProcess, Command, spawn_command
from sandbox.servers.waiting import wait_until
from tests.house.reading import ROOT

SCRIPTS = Path(sys.executable).parent
FORKED_SCRIPTS = frozenset({"celery", "postroom"})
"""Installed programs that are written in Python, by their names; others are not."""

START_WITHIN_S, END_WITHIN_S = 60.0, 60.0
"""How long the prepared Python may take to get ready, and a command to end, on a busy machine, in seconds."""


class PreparedPython:
    """The session's prepared Python: where it listens, or nothing."""

    address = ""


class ForkedProcess:
    """A process that was forked for us, by the interface of `subprocess.Popen`."""

    def __init__(self, command: Command, output: int, mark: str) -> None:
        self._status: int | None = None
        self._lines = b""
        connection = wait_until(_connect, within=START_WITHIN_S, describe="the prepared Python")
        assert connection is not None
        self._connection = connection
        request = {
            "words": words_of(command),
            "environment": {**os.environ, **(command.environment or {}), MARK: mark},
            "folder": str(command.folder or Path.cwd()),
        }
        socket.send_fds(self._connection, [json.dumps(request).encode() + b"\n"], [output])
        self.pid = self._read_number()

    def poll(self) -> int | None:
        """The exit status; None while it runs."""
        if self._status is None and self._readable(0):
            self._end()
        return self._status

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end; `subprocess.TimeoutExpired` after `timeout` seconds."""
        if self._status is None:
            if not self._readable(timeout):
                raise subprocess.TimeoutExpired("a forked process", timeout or 0)
            self._end()
        return self._status or 0

    def send_signal(self, sig: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, sig)

    def _end(self) -> None:
        self._status = self._read_number()
        self._connection.close()

    def _readable(self, timeout: float | None) -> bool:
        return b"\n" in self._lines or bool(select.select([self._connection], [], [], timeout)[0])

    def _read_number(self) -> int:
        while b"\n" not in self._lines:
            got = self._connection.recv(64)
            if not got:
                raise RuntimeError("the prepared Python has ended")
            self._lines += got
        line, _, self._lines = self._lines.partition(b"\n")
        return int(line)


def spawn_python(command: Command, output: int, mark: str) -> Child:
    """Start `python -m …` or an installed script, for `ChildProcess`."""
    forked = PreparedPython.address and words_of(command)
    return ForkedProcess(command, output, mark) if forked else spawn_command(command, output, mark)


def words_of(command: Command) -> list[str]:
    """What a prepared Python is to run: a module or a script, and its words; empty for other programs."""
    python, *words = command.arguments
    if python == sys.executable and words[:1] == ["-m"]:
        return words[1:]
    program = Path(python)
    return [python, *words] if program.parent == SCRIPTS and program.name in FORKED_SCRIPTS else []


def run_python(*words: str, folder: Path, environment: Mapping[str, str] | None = None) -> tuple[int, str]:
    """Run `python -m <words>` to its end; returns its exit status and all that it wrote."""
    return run_command(Command([sys.executable, "-m", *words], environment, folder))


def run_script(*words: str, folder: Path, environment: Mapping[str, str] | None = None) -> tuple[int, str]:
    """The same of an installed script, by its name."""
    name, *arguments = words
    return run_command(Command([str(SCRIPTS / name), *arguments], environment, folder))


def run_command(command: Command) -> tuple[int, str]:
    """Run a program to its end; returns its exit status and all that it wrote."""
    with TemporaryFile() as output:
        child = spawn_python(command, output.fileno(), uuid4().hex)
        try:
            status = child.wait(END_WITHIN_S)
        finally:
            child.send_signal(signal.SIGKILL)  # to one that did not end in time
        output.seek(0)
        return status, output.read().decode(errors="replace")


@contextmanager
def run_prepared_python(folder: Path) -> Iterator[str]:
    """Run a prepared Python; yields its address at once, before it is ready."""
    address = str(folder / "python.sock")
    words = [sys.executable, str(ROOT / "tests" / "servers" / "prepared_python.py"), address, MARK]
    server = ChildProcess(Command(words, folder=ROOT), log=folder / "python.log")
    server.start()
    try:
        yield address
    finally:
        server.stop()


def _connect() -> socket.socket | None:
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(PreparedPython.address)
    except (FileNotFoundError, ConnectionRefusedError):
        connection.close()
        return None
    return connection
