"""A Python that has imported the libraries of the fleet, and forks the processes that tests start.

Importing costs more CPU than most of those processes use in their lives. Of this repository, those rooms are imported,
too, that read no environment and make nothing which forked processes would share. A forked process imports all other
modules anew, in the environment and the folder that it is given, as `python -m` does, or as a script does.

`python tests/servers/prepared_python.py <address> <name of a variable>` serves at a Unix socket. Each connection asks
for one process: it brings a line of JSON with its `words`, `environment` and `folder`, and a file descriptor for its
output. Answered are the process's id and, once it has ended, its exit status, a line each. The server ends by a signal.
"""

import ctypes
import gc
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from sysconfig import get_path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
LIBRARIES = get_path("purelib")
NOT_BEFORE_THE_FORK = frozenset({"celery.bin.celery", "celery.__main__"})
"""Modules of libraries that import modules of this repository."""

EARLY_ROOMS = frozenset({"domain", "observability", "providers", "settings"})
"""What is imported before the fork of this repository: two fifths of what a process of the fleet imports of it."""

LAZY = (
    "celery.apps.beat",
    "celery.apps.worker",
    "celery.concurrency.prefork",
    "celery.concurrency.solo",
    "celery.concurrency.thread",
    "celery.worker.consumer",
    "kombu.transport.redis",
    "sqlalchemy.dialects.postgresql.psycopg",
)
"""What a worker and beat import only when they start."""

LIST = f"""
import sys, importlib
for name in ("celery.bin.celery", "tasks", "commands.command_line.every_command", *{LAZY!r}):
    importlib.import_module(name)
files = {{name: getattr(module, "__file__", None) or "" for name, module in sys.modules.items()}}
early = {sorted(EARLY_ROOMS)!r}
print("\\n".join(name for name, file in files.items() if file.startswith({LIBRARIES!r}) or name.split(".")[0] in early))
"""
"""A program that prints what a process of the fleet imports of libraries and of early rooms, in its order."""


def preload() -> None:
    """Import libraries and early rooms; raises `RuntimeError` when one of them imports what is of another room."""
    sys.path[0] = str(ROOT)
    words = [sys.executable, "-c", LIST]
    found = subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()  # noqa: S603  # our own program
    for name in found:
        if name not in NOT_BEFORE_THE_FORK:
            with suppress(ImportError):  # a part that only its library itself can import
                import_module(name)
    late = [module for name, module in sys.modules.items() if room_of(name) not in EARLY_ROOMS]
    files = {getattr(module, "__file__", None) or "" for module in late} - {str(Path(__file__))}
    if ours := sorted(file for file in files if file.startswith(f"{ROOT}/") and not file.startswith(LIBRARIES)):
        raise RuntimeError(f"imported before the fork: {ours}")
    gc.collect()
    gc.freeze()  # a collection in a forked process would write to every page, and so copy it


def room_of(module: str) -> str:
    """The room of a module of this repository, by its name."""
    return module.partition(".")[0]


class Server:
    """Forks processes on request, and tells of their ends."""

    def __init__(self, address: str, mark: str) -> None:
        self._mark = mark
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(address)
        self._listening.listen(64)
        self._woken, self._wake = os.pipe()
        os.set_blocking(self._woken, False)
        os.set_blocking(self._wake, False)
        self._told: dict[int, socket.socket] = {}

    def serve(self) -> list[str]:
        """Serve for ever; returns in each forked process, with the words that it is to run."""
        signal.set_wakeup_fd(self._wake)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        asked = self._listening.fileno()
        while True:
            ready, _, _ = select.select([self._woken, asked], [], [])
            if self._woken in ready:
                with suppress(BlockingIOError):
                    os.read(self._woken, 4096)
                self._reap()
            if asked in ready and (words := self._fork()) is not None:
                return words

    def _fork(self) -> list[str] | None:
        connection, _ = self._listening.accept()
        request, output = receive(connection)
        pid = os.fork()
        if pid == 0:
            self._leave(connection)
            begin(request, output, self._mark)
            words: list[str] = request["words"]
            return words
        os.close(output)
        self._told[pid] = connection
        tell(connection, pid)
        return None

    def _reap(self) -> None:
        while self._told:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            with self._told.pop(pid) as connection:
                tell(connection, os.waitstatus_to_exitcode(status))

    def _leave(self, connection: socket.socket) -> None:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for one in (self._listening, connection, *self._told.values()):
            one.close()
        for descriptor in (self._woken, self._wake):
            os.close(descriptor)


def tell(connection: socket.socket, number: int) -> None:
    """Send one line; whoever asked may be gone."""
    with suppress(OSError):
        connection.sendall(f"{number}\n".encode())


def receive(connection: socket.socket) -> tuple[dict[str, Any], int]:
    """Read a request with its file descriptor."""
    text, descriptors, _, _ = socket.recv_fds(connection, 2**16, 1)
    while not text.endswith(b"\n"):
        text += connection.recv(2**16)
    return json.loads(text), descriptors[0]


def begin(request: dict[str, Any], output: int, mark: str) -> None:
    """Become what a fresh process would be."""
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDONLY)
    for given, wanted in ((nothing, 0), (output, 1), (output, 2)):
        os.dup2(given, wanted)
    os.close(nothing)
    os.close(output)
    overwrite(mark, request["environment"][mark])
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    program = request["words"][0]
    own = [one for one in os.environ.get("PYTHONPATH", "").split(os.pathsep) if one]
    sys.path[:1] = [str(Path(program).parent) if is_script(program) else request["folder"], *own]
    if any(has_early_room(folder) for folder in sys.path[: 1 + len(own)] if folder != str(ROOT)):
        for name in [name for name in sys.modules if room_of(name) in EARLY_ROOMS]:
            del sys.modules[name]
    sys.argv[:] = request["words"]
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr] # the type is that of any stream


def is_script(program: str) -> bool:
    """Whether this is the path of a script, and not the name of a module."""
    return os.sep in program


def has_early_room(folder: str) -> bool:
    """Whether a folder on the path has modules in the place of ours."""
    return any(Path(folder, name).exists() for room in EARLY_ROOMS for name in (room, f"{room}.py"))


def overwrite(variable: str, value: str) -> None:
    """Change a variable where the system shows it to other processes: in the memory that held it at the start."""
    getenv = ctypes.CDLL(None).getenv
    getenv.restype = ctypes.c_void_p
    if len(value) != len(os.environ[variable]):
        raise ValueError(f"{variable} must keep its length")
    ctypes.memmove(getenv(variable.encode()), value.encode(), len(value))


if __name__ == "__main__":
    preload()
    program, *_ = Server(sys.argv[1], sys.argv[2]).serve()
    if is_script(program):
        runpy.run_path(program, run_name="__main__")
    else:
        runpy.run_module(program, run_name="__main__", alter_sys=True)
