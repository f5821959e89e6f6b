"""A process that runs one job and is killed at a boundary: SIGKILL, and nothing is cleaned up."""

import logging
import os
import signal
from multiprocessing import get_context
from multiprocessing.context import ForkServerProcess
from uuid import UUID

import structlog

from engine.process.runtime import Runtime, install
from engine.worker.lease import renew
from settings import Settings
from tests.sweep.boundaries import Point, Watch
from tests.sweep.drivers import Driver
from tests.sweep.seams import DatabaseSeam, WatchedPublisher
from tests.sweep.stage import Scene, job_type_of

LIVES_AT_MOST_S = 120.0

_context = get_context("forkserver")
# One process imports the fleet, once; every victim is forked from it.
_context.set_forkserver_preload(["tests.sweep.victim", "tests.sweep.broken_jobs"])


def kill_at(scene: Scene, point: Point) -> None:
    """Run the scene's job in a process of its own, and kill that at the point; at a call, from outside.

    The scene's `end` tells how the process ended.
    """
    arguments = (scene.settings, scene.job_type.name, scene.job_id, scene.driver, None if point.outside else point)
    child: ForkServerProcess = _context.Process(target=live_and_die, args=arguments)
    watch = Watch(point, die=lambda: os.kill(child.pid or 0, signal.SIGKILL))
    scene.outside.watch = watch if point.outside else None
    try:
        child.start()
        child.join(LIVES_AT_MOST_S)
    finally:
        scene.outside.watch = None
        if child.is_alive():
            child.kill()
            child.join()
    scene.end = "killed" if child.exitcode == -signal.SIGKILL else f"left alive, it ended with {child.exitcode}"
    child.close()


def live_and_die(settings: Settings, job_type: str, job_id: UUID, driver: Driver, point: Point | None) -> None:
    """What the process does."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    watch = Watch(point, die=lambda: os.kill(os.getpid(), signal.SIGKILL))
    process = Runtime(settings, dice=lambda: 0.0)
    process.publisher = WatchedPublisher(settings.broker_url.get_secret_value(), watch, lambda _hints: None)
    install(process)
    renew(process)
    with DatabaseSeam(watch).watching():
        driver(process, job_type_of(job_type), job_id)
