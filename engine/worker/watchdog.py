"""Threads without which a worker must not go on: when one ends, the worker ends, and its supervisor starts another."""

import threading
from collections.abc import Iterable

import structlog
from celery.exceptions import WorkerShutdown
from celery.platforms import EX_FAILURE

log = structlog.get_logger(__name__)

LOOK_S = 1.0
"""How often a worker looks whether they live."""


def report_deaths() -> None:
    """Write to the log, which redacts, what ended a thread; Python itself would write it to the terminal."""
    threading.excepthook = _report


def end_without(threads: Iterable[threading.Thread]) -> None:
    """End the worker if one has ended: without its lease its jobs are taken from it, without its relay none come.

    Raises `WorkerShutdown`.
    """
    ended = [thread.name for thread in threads if not thread.is_alive()]
    if ended:
        log.critical("worker_ends", reason=f"thread ended: {', '.join(ended)}")
        raise WorkerShutdown(EX_FAILURE)


def _report(death: threading.ExceptHookArgs) -> None:
    if death.exc_value is None or isinstance(death.exc_value, SystemExit):
        return
    name = death.thread.name if death.thread else "unknown"
    log.critical("thread_died", thread=name, exc_info=death.exc_value)
