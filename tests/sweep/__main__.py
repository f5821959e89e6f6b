"""`make sweep`: sweeps every job type at every boundary and writes `build/sweep/report.json`."""

import argparse
import logging
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.queues import Queue

import structlog

from tests.servers import SessionServers, broker_number, run_session_servers
from tests.sweep.drivers import DRIVERS
from tests.sweep.exploration import DEPTHS, Place, Swept, Unworkable, sweep
from tests.sweep.outside import running_outside
from tests.sweep.report import FOLDER, write
from tests.sweep.scenarios import swept_types
from tests.sweep.stage import job_type_of


@dataclass(frozen=True)
class Order:
    """One job type to sweep, for a process of the pool."""

    job_type: str
    servers: SessionServers
    depth: str
    driver: str


_numbers: list[int] = []
"""This process's broker, once it has one."""


def main() -> int:
    """Sweep; 0 when nothing is violated."""
    options = _options()
    names = [name for name in swept_types() if options.only in name]
    with run_session_servers() as servers:
        orders = [Order(name, servers, options.depth, options.driver) for name in names]
        swept = list(_sweep_all(orders, options.processes))
    path = write(options.report, sorted(swept, key=lambda one: one.scenario))
    wrong = [violation for one in swept for violation in one.violations]
    for violation in wrong:
        sys.stderr.write(f"{violation}\n")
    points = sum(one.points for one in swept)
    sys.stdout.write(f"{len(names)} job types, {points} points, {len(wrong)} violations: {path}\n")
    return 1 if wrong else 0


def _sweep_all(orders: Sequence[Order], processes: int) -> Iterator[Swept]:
    context = get_context("spawn")
    numbers: Queue[int] = context.Queue()
    for number in range(processes):
        numbers.put(broker_number(number))
    began = time.monotonic()
    with ProcessPoolExecutor(processes, mp_context=context, initializer=_begin, initargs=(numbers,)) as pool:
        pending: list[Future[list[Swept]]] = [pool.submit(_sweep_one, order) for order in orders]
        for done in as_completed(pending):
            for one in done.result():
                told = f"{time.monotonic() - began:6.0f} s  {one.scenario}: {one.points} points"
                sys.stdout.write(f"{told}, {len(one.violations)} violations\n")
                sys.stdout.flush()
                yield one


def _begin(numbers: "Queue[int]") -> None:
    _numbers.append(numbers.get())
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    logging.disable(logging.CRITICAL)  # the pool tells of every connection that we cut


def _sweep_one(order: Order) -> list[Swept]:
    with running_outside() as outside:
        place = Place(order.servers, order.servers.broker_url(_numbers[0]), outside, DRIVERS[order.driver])
        try:
            return sweep(place, job_type_of(order.job_type), DEPTHS[order.depth])
        except Unworkable as problem:
            return [Swept(order.job_type, order.job_type, violations=[str(problem)])]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser("tests.sweep", description=__doc__)
    parser.add_argument("--processes", type=int, default=2, help="how many job types at a time")
    parser.add_argument("--only", default="", help="only job types with this in their name")
    parser.add_argument("--depth", choices=list(DEPTHS), default="whole")
    parser.add_argument("--driver", choices=sorted(DRIVERS), default="one_by_one")
    parser.add_argument("--report", default="report", help=f"the name of the report in {FOLDER.name}/")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
