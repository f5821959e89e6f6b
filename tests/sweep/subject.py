"""A process that runs one job and is killed at a boundary: SIGKILL, and nothing is cleaned up."""

import logging
import os
import signal
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess

import structlog

from domain.jobs.job import Hint
from engine.runtime import Runtime, install
from engine.worker.lease import renew
from settings import Settings
from tests.doubles.inline_worker import InlineWorker, bearing_worker
from tests.sweep.boundaries import Point, Watch
from tests.sweep.fixture import Trial
from tests.sweep.instrumentation import WatchedDatabase, WatchedPublisher

LIVES_AT_MOST_S = 120.0

_context = get_context("forkserver")
LAZY = ("providers.anthropic.language_model", "providers.google.gmail", "providers.google.oauth")
"""What jobs import on demand: two seconds of CPU for each subject that did so by itself."""
# One process imports the fleet, once; every subject is forked from it.
_context.set_forkserver_preload(["tests.sweep.subject", "tests.sweep.broken_jobs", *LAZY])


def kill_at(trial: Trial, point: Point) -> None:
    """Run the trial's job in a process of its own, and kill that at the point; at a call, from outside.

    The trial's `end` says how the process ended.
    """
    receiving, sending = _context.Pipe(duplex=False)
    arguments = (trial.settings, trial.hint, None if point.outside else point, sending, trial.bears)
    child: ForkServerProcess = _context.Process(target=live_and_die, args=arguments)
    watch = Watch(point, die=lambda: os.kill(child.pid or 0, signal.SIGKILL))
    trial.outside.watch = watch if point.outside else None
    try:
        child.start()
        child.join(LIVES_AT_MOST_S)
    finally:
        trial.outside.watch = None
        if child.is_alive():
            child.kill()
            child.join()
    sending.close()
    with receiving, suppress(EOFError):
        while True:
            trial.stations.add(receiving.recv())
    trial.end = "killed" if child.exitcode == -signal.SIGKILL else f"left alive, it ended with {child.exitcode}"
    child.close()


def live_and_die(settings: Settings, hint: Hint, point: Point | None, sending: Connection, bears: bool) -> None:
    """What the process does; it reports each station that its job comes to."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    watch = Watch(point, die=lambda: os.kill(os.getpid(), signal.SIGKILL))
    process = Runtime(settings, jitter=lambda: 0.0)
    process.publisher = WatchedPublisher(
        settings.broker_url.get_secret_value(), watch, lambda _hints: None, lambda _queue, _demand: None
    )
    install(process)
    renew(process)
    with WatchedDatabase(watch).watching():
        begin = bearing_worker if bears else InlineWorker
        begin(process, passed=sending.send).run(hint)
