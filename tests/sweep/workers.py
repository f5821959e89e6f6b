"""The processes among which a sweep is divided; each takes a job type at a time, in an environment of its own."""

import logging
import os
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from multiprocessing.queues import Queue
from threading import Thread

import structlog

from tests.servers.servers import SessionServers, broker_number
from tests.sweep.exploration import DEPTHS, Environment, Swept, Unworkable, sweep
from tests.sweep.fixture import job_type_of
from tests.sweep.outside import running_outside
from tests.sweep.snapshot import StillConnected


@dataclass(frozen=True)
class Assignment:
    """One job type to sweep."""

    job_type: str
    servers: SessionServers
    depth: str


_numbers: list[int] = []
"""This process's broker, once it has one."""


def sweep_all(assignments: Sequence[Assignment], processes: int) -> Iterator[Swept]:
    """Sweep them, so many at a time; each scenario as soon as it is done."""
    context = get_context("spawn")
    numbers: Queue[int] = context.Queue()
    for number in range(processes):
        numbers.put(broker_number(number))
    with ProcessPoolExecutor(processes, mp_context=context, initializer=_begin, initargs=(numbers,)) as pool:
        pending: list[Future[list[Swept]]] = [pool.submit(_sweep_one, one) for one in assignments]
        for done in as_completed(pending):
            yield from done.result()


def _end_with_parent() -> None:
    """A pool's process would wait for ever for the next job type of a parent that was killed."""
    if parent := parent_process():
        parent.join()
        os.kill(os.getpid(), signal.SIGKILL)


def _begin(numbers: "Queue[int]") -> None:
    Thread(target=_end_with_parent, daemon=True).start()
    _numbers.append(numbers.get())
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    logging.disable(logging.CRITICAL)  # the pool tells of every connection that we cut


def _sweep_one(assignment: Assignment) -> list[Swept]:
    with running_outside() as outside:
        environment = Environment(assignment.servers, assignment.servers.broker_url(_numbers[0]), outside)
        try:
            return sweep(environment, job_type_of(assignment.job_type), DEPTHS[assignment.depth])
        except Unworkable as problem:
            return [Swept(assignment.job_type, assignment.job_type, violations=[str(problem)])]
        except StillConnected:
            return [Swept(assignment.job_type, assignment.job_type, skipped=["all points: a connection does not end"])]
