"""How a run of the local stack begins and ends: a lock on its folder, signals as exceptions, no inherited settings."""

import fcntl
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from settings import PREFIX

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(BaseException):
    """A signal asked this process to end. Not an `Exception`, so that no error handler swallows it."""

    def __init__(self, number: int) -> None:
        """`number` is the signal's."""
        super().__init__(signal.Signals(number).name)
        self.exit_status = 128 + number


class Busy(Exception):
    """Another run uses this folder; the message names the folder."""


@contextmanager
def stopped_by_signals() -> Iterator[None]:
    """Turn the first SIGINT, SIGTERM or SIGHUP inside the block into `Stopped`; later ones are ignored."""

    def stop(number: int, _frame: FrameType | None) -> None:
        for each in SIGNALS:
            signal.signal(each, signal.SIG_IGN)
        raise Stopped(number)

    before = {number: signal.signal(number, stop) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def signals_deferred() -> Iterator[None]:
    """Defer signals to the end of the block, so that a process being started is registered before we stop."""
    deferred: list[int] = []
    before = {number: signal.signal(number, lambda number, _frame: deferred.append(number)) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for first in deferred[:1]:
            signal.raise_signal(first)


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Lock the folder for the length of the block; `Busy` when another process has the lock."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f"{folder.name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Busy(f"another run works in {folder}; wait for its end, or stop it") from None
        yield


def forget_settings() -> None:
    """Remove settings from this process's environment, which the processes of the stack would inherit."""
    for name in [name for name in os.environ if name.startswith(PREFIX)]:
        del os.environ[name]
