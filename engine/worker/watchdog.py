"""Looks whether a worker does its work: says what is wrong, and ends a worker that cannot go on (promise P11).

What is wrong, and when a worker must end, is decided in `domain.jobs.monitoring.liveness`. The supervisor starts
another worker.
"""

import logging
import os
import sys
import threading
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable
from typing import NoReturn

import structlog
from celery.exceptions import WorkerShutdown
from celery.platforms import EX_FAILURE

from domain.jobs.monitoring.liveness import LOOP_STANDS_STILL, STOP_MARGIN_S, Symptom, WorkerCondition, symptoms
from engine.runtime import Runtime
from observability.log_limit import LogLimit

log = structlog.get_logger(__name__)

LOOK_S = 1.0
"""How often it looks."""

EX_STUCK = 75
"""The exit status of a worker that stood still or whose slots hang: EX_TEMPFAIL of sysexits.h, "try again"."""

ENDING_S = 10.0
"""How long the jobs of a worker that must end may go on, and how long giving back its claims may take."""

LOOKS_BEFORE_END = 5
"""How many looks in a row must find that a worker has to end."""

STOPPING = "stopping"

FRAMES = 8
"""How much of the main thread's stack is logged: its innermost calls."""


class Watchdog(threading.Thread):
    """Watches the worker from a thread of its own, because the main thread may be what hangs."""

    def __init__(
        self, process: Runtime, condition: Callable[[], WorkerCondition | None], end: Callable[[], object]
    ) -> None:
        """`condition` returns None before there is a ledger loop; `end` gives back all claims and ends the children."""
        super().__init__(name="watchdog", daemon=True)
        self._process = process
        self._condition = condition
        self._end = end
        self._main = threading.main_thread().ident
        self._said: defaultdict[str, LogLimit] = defaultdict(LogLimit)
        self._looks: Counter[str] = Counter()
        """How many looks in a row found this."""
        self.hopeless = ""
        """Why the worker must end, once that is clear; the main thread reads this, too."""

    def run(self) -> None:
        """Look, for as long as the process lives."""
        pause = threading.Event()
        while True:
            pause.wait(LOOK_S)
            self.look()

    def look(self) -> None:
        """Look once.

        Several looks must find a symptom: after a freeze of the whole process, the loop must get the chance to go on.
        """
        if self._process.stopping.is_set():
            self._looks[STOPPING] += 1
            if self._looks[STOPPING] * LOOK_S > self._process.settings.shutdown_grace_s + STOP_MARGIN_S:
                self.end_process("it did not stop within its grace")
            return
        condition = self._condition()
        if condition is None:
            return
        found = symptoms(condition)
        self._looks = Counter({symptom.name: self._looks[symptom.name] + 1 for symptom in found})
        self._say(found)
        for symptom in found:
            if symptom.ends and self._looks[symptom.name] >= LOOKS_BEFORE_END:
                self.hopeless = symptom.reason
                if symptom.name == LOOP_STANDS_STILL:  # otherwise the main thread ends it, and lets other slots finish
                    self.end_process(symptom.reason)

    def end_process(self, reason: str) -> NoReturn:
        """Give back all claims and end the process, whatever the main thread is doing."""
        log.critical("worker_ends", reason=reason, main_thread=self._stack())
        ending = threading.Thread(target=self._end, name="ending", daemon=True)
        ending.start()
        ending.join(ENDING_S)
        logging.shutdown()
        os._exit(EX_STUCK)

    def _say(self, found: Iterable[Symptom]) -> None:
        now = time.monotonic()
        names = set()
        for symptom in found:
            names.add(symptom.name)
            if self._said[symptom.name].note(now):
                log.error(symptom.name, reason=symptom.reason, main_thread=self._stack())
        for name in set(self._said) - names:
            del self._said[name]
            log.warning("recovered", symptom=name)

    def _stack(self) -> list[str]:
        """Where the main thread is; places only, for values may be mail."""
        frame = sys._current_frames().get(self._main or 0)  # noqa: SLF001 - documented by Python for this very purpose
        if frame is None:
            return []
        return [
            f"{place.filename.rpartition('/')[2]}:{place.name}" for place in traceback.extract_stack(frame)[-FRAMES:]
        ]


def report_deaths() -> None:
    """Write to the log, which redacts, what ended a thread; Python itself would write it to the terminal."""
    threading.excepthook = _report


def end_without(threads: Collection[threading.Thread]) -> None:
    """End the worker if one of the threads that it needs has ended, or if its watchdog has given it up.

    Without its lease its jobs are taken from it, without its relay none come, without its watchdog nobody looks. Raises
    `WorkerShutdown`.
    """
    ended = [thread.name for thread in threads if not thread.is_alive()]
    if ended:
        log.critical("worker_ends", reason=f"thread ended: {', '.join(ended)}")
        raise WorkerShutdown(EX_FAILURE)
    for thread in threads:
        if isinstance(thread, Watchdog) and thread.hopeless:
            log.critical("worker_ends", reason=thread.hopeless)
            raise WorkerShutdown(EX_STUCK)


def _report(death: threading.ExceptHookArgs) -> None:
    if death.exc_value is None or isinstance(death.exc_value, SystemExit):
        return
    name = death.thread.name if death.thread else "unknown"
    log.critical("thread_died", thread=name, exc_info=death.exc_value)
