"""One child process that dies with its parent, writes its output to a file, and can be stopped, killed or frozen."""

import os
import pwd
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from uuid import uuid4

import psutil

MARK = "POSTROOM_SANDBOX_CHILD"
"""The environment variable that names the child which a process belongs to; inherited by all that the child starts."""

LIFELINE = 'read -r never; kill -s "$1" "$2" && kill -s CONT "$2"'
"""Reads a pipe whose other end only the parent holds: end of file means the parent is gone, however it died.

Portable, and unlike `PR_SET_PDEATHSIG` it neither depends on the thread that started the child nor is lost when the
child changes its user.
"""


@dataclass(frozen=True)
class Command:
    """What to run: arguments, environment added to ours, working folder, and the user to become when we are root."""

    arguments: Sequence[str]
    environment: Mapping[str, str] | None = None
    folder: Path | None = None
    user: str | None = None


class Child(Protocol):
    """A process that was started, as `subprocess.Popen` shows it."""

    pid: int

    def poll(self) -> int | None:
        """The exit status; None while it runs."""

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end and return the exit status; `subprocess.TimeoutExpired` after `timeout` seconds."""

    def send_signal(self, sig: int) -> None:
        """Send a signal; does nothing when it has ended."""


Spawn = Callable[[Command, int, str], Child]
"""Starts a command whose output goes to a file descriptor, with a value for `MARK` in its environment."""


class ChildProcess:
    """A command as a child in a session of its own, so that Ctrl-C in a terminal reaches us and not it.

    `log` receives what it writes, appended over restarts. `stop_signal` asks it to end gracefully.
    """

    def __init__(
        self, command: Command, *, log: Path, stop_signal: signal.Signals = signal.SIGTERM, spawn: Spawn | None = None
    ) -> None:
        """Remember the command; nothing runs before `start`, which may start it in another way (`spawn`)."""
        self.command = command
        self.log = log
        self.stop_signal = stop_signal
        self._spawn = spawn or spawn_command
        self._process: Child | None = None
        self._lifeline: subprocess.Popen[bytes] | None = None
        self._mark = uuid4().hex

    @property
    def pid(self) -> int:
        """The process id of the last start; an error before the first."""
        if self._process is None:
            raise RuntimeError(f"{self.command.arguments[0]} was never started")
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether the process is alive (a frozen one is)."""
        return self._process is not None and self.exit_status is None

    @property
    def exit_status(self) -> int | None:
        """The status of the last run, negative for the signal that ended it; None while it runs or before."""
        status = None if self._process is None else self._process.poll()
        if status is not None:
            # The process is reaped and its id may be used again, so no signal may be sent to that id any more.
            self._let_go()
        return status

    def start(self) -> None:
        """Run the command; returns as soon as the process exists, not when it is ready."""
        if self.running:
            raise RuntimeError(f"{self.command.arguments[0]} is running already (process {self.pid})")
        self._let_go()
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            self._process = self._spawn(self.command, log.fileno(), self._mark)
        self._lifeline = _watch(self._process.pid, self.stop_signal)

    def stop(self, *, within: float = 20.0) -> int:
        """Ask it to end, kill it with all its children when it has not after `within` seconds; the exit status."""
        if self.running:
            self.send(self.stop_signal)
            self.send(signal.SIGCONT)
        try:
            return self.wait(within=within)
        except subprocess.TimeoutExpired:
            self.sweep()
            return self.wait(within=within)
        finally:
            self._let_go()

    def kill(self) -> None:
        """End this process at once with SIGKILL; its own children are left to notice by themselves."""
        self.send(signal.SIGKILL)
        self.wait(within=10.0)
        self._let_go()

    def sweep(self) -> None:
        """Kill this process and all that it has started, at once.

        Descendants are recognised by a mark in their environment, not by their session id: after the process has ended,
        the system may give that id to another session.
        """
        for process in psutil.process_iter():
            try:
                if process.environ().get(MARK) == self._mark:
                    process.kill()
            except psutil.Error:
                continue

    def freeze(self) -> None:
        """Stop the process and its children with SIGSTOP."""
        os.killpg(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """Continue a frozen process and its children with SIGCONT."""
        os.killpg(self.pid, signal.SIGCONT)

    def send(self, what: signal.Signals) -> None:
        """Send a signal to the process; does nothing when it has ended."""
        if self._process is not None:
            self._process.send_signal(what)

    def wait(self, *, within: float) -> int:
        """Wait for the end and return the exit status; `subprocess.TimeoutExpired` after `within` seconds."""
        return 0 if self._process is None else self._process.wait(within)

    def read_log(self) -> str:
        """The whole log, over restarts."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def _let_go(self) -> None:
        if self._lifeline is not None:
            self._lifeline.kill()
            self._lifeline.communicate()
            self._lifeline = None


def spawn_command(command: Command, output: int, mark: str) -> subprocess.Popen[bytes]:
    """Start a command by its words."""
    account = pwd.getpwnam(command.user) if command.user else None
    return subprocess.Popen(  # noqa: S603  # only this repository's servers and tests call it
        list(command.arguments),
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        cwd=command.folder,
        env={**os.environ, **(command.environment or {}), MARK: mark},
        start_new_session=True,
        user=account.pw_uid if account else None,
        group=account.pw_gid if account else None,
        extra_groups=[] if account else None,
    )


def _watch(pid: int, stop_signal: signal.Signals) -> subprocess.Popen[bytes]:
    """Start the lifeline of one process: a shell of a few hundred kilobytes that waits for our end."""
    return subprocess.Popen(  # noqa: S603  # a constant script; the arguments are a signal's name and a number
        ["/bin/sh", "-c", LIFELINE, "lifeline", stop_signal.name.removeprefix("SIG"), str(pid)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
