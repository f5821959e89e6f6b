"""How a run of the box begins alone and ends in good order: a lock, signals as exceptions, no settings astray."""

import fcntl
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

PREFIX = "POSTROOM_"
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(BaseException):
    """A signal asked us to end; like `KeyboardInterrupt` no handler of errors may swallow it."""

    def __init__(self, number: int) -> None:
        """Remember which signal it was."""
        super().__init__(signal.Signals(number).name)
        self.exit_status = 128 + number


class Busy(Exception):
    """Another run works in this folder; the message names it."""


@contextmanager
def stopped_by_signals() -> Iterator[None]:
    """Turn the first SIGINT, SIGTERM or SIGHUP inside the block into `Stopped`; later ones cannot disturb the end."""

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
def undisturbed() -> Iterator[None]:
    """Put signals off until the end of the block: a process that is being started must be known before we stop."""
    put_off: list[int] = []
    before = {number: signal.signal(number, lambda number, _frame: put_off.append(number)) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for first in put_off[:1]:
            signal.raise_signal(first)


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Hold the folder for the length of the block; `Busy` when another process holds it, however that one ends."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f"{folder.name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Busy(f"another run works in {folder}; wait for its end, or stop it") from None
        yield


def forget_settings() -> None:
    """Drop settings of the caller's environment, which would reach the processes of the box beside its own."""
    for name in [name for name in os.environ if name.startswith(PREFIX)]:
        del os.environ[name]
