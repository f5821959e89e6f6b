"""Where a test session keeps the files of its servers: in memory if there is room, for as long as it runs.

A test's database is some 300 files, made and removed two thousand times: on ext4 that took a third of the suite's CPU.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

MEMORY = Path("/dev/shm")  # noqa: S108  # every folder in it has a random name and is its user's alone
ROOM_WANTED = 6 * 1024**3
"""Bytes; the largest database of the suite has a million jobs, and there is the log beside it."""

PREFIX = "postroom-tests-"
IN_USE = "in_use"
"""A file that the session keeps locked."""


def find_fastest_parent() -> Path:
    """The in-memory file system if there is one with enough space, else the temporary folder."""
    if not os.access(MEMORY, os.W_OK):
        return Path(tempfile.gettempdir())
    room = min(shutil.disk_usage(MEMORY).free, int(psutil.virtual_memory().available))
    return MEMORY if room > ROOM_WANTED else Path(tempfile.gettempdir())


@contextmanager
def session_folder(parent: Path) -> Iterator[Path]:
    """Lend an empty folder in `parent`; those that killed sessions left there are removed before."""
    for mark in parent.glob(f"{PREFIX}*/{IN_USE}"):
        _remove_if_left(mark)
    with tempfile.TemporaryDirectory(prefix=PREFIX, dir=parent) as name:
        unlocked = Path(name) / "not_yet_in_use"
        with unlocked.open("w") as file:
            _lock(file.fileno())
            unlocked.rename(unlocked.with_name(IN_USE))
            yield Path(name)


def _remove_if_left(mark: Path) -> None:
    # Another session may remove the same folder meanwhile, and another user's folder cannot be removed.
    with suppress(FileNotFoundError, PermissionError), mark.open() as file, suppress(BlockingIOError):
        _lock(file.fileno())
        shutil.rmtree(mark.parent, ignore_errors=True)


def _lock(descriptor: int) -> None:
    """Lock a file until this process ends; `BlockingIOError` when another process has the lock."""
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
