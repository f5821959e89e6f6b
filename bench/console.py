"""`python -m bench.console`: how long each page takes beside a fleet that drains, and what viewers cost the drain."""

import argparse
import http.client
import json
import statistics
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path

import psycopg
from rich.console import Console

from bench.contenders.contender import ROOT
from bench.contenders.ours import FEW_THREADS, TEMPLATE, Ours
from bench.contest import take_turns
from bench.drain import DrainRun, drain
from bench.machine import here_and_now
from bench.stores import Stores, bulk_sql
from domain.orgs.access.operators import OperatorRole
from observability import logs
from operations.areas import areas
from sandbox.demo.endings import Busy, Stopped, alone_in, stopped_by_signals
from sandbox.servers.child_process import ChildProcess, Command
from sandbox.servers.servers import run_servers
from sandbox.servers.waiting import wait_until
from storage.orgs.access import operators
from storage.postgres.database import Transaction

FOLDER = ROOT / "build" / "bench-console"
PORT = 18_437
BASE = "/console"
HASH = "$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHQ$aGFzaA"
VIEWERS = 10
"""Pages that are open, each of another operator and of a job that waits."""
FRESH_S = 2.0
"""How often an open page is asked for at most (gateway/console/static/keys.js). By itself it is after 30 s in which its
stream says nothing; a drain is shorter."""
SILENCE_S = 60.0
"""Longer than a stream is without a comment."""
P95_S, COST = 0.3, 0.03
"""What is asked for: of each page's response time, and of what ten viewers take of a drain."""


class Viewed(Ours):
    """Postroom's workers with a gateway beside them, at which operators have signed in."""

    def __init__(self, stores: Stores, log: Path, finished: int) -> None:
        """Fill the prepared database with jobs that have ended."""
        super().__init__(stores)
        self._log = log
        self.cookies: list[str] = []
        self.waiting: list[str] = []
        self.begin: Callable[[], object] = list
        words = {"org": self.org, "job_type": "noop_jobs.noop", "span": timedelta(days=7)}
        with psycopg.connect(stores.database_url(TEMPLATE), autocommit=True) as owner:
            owner.execute(bulk_sql("spare_scans"))
            owner.execute(bulk_sql("fill_finished"), words | {"start": 0, "rows": finished, "total": finished})
            owner.execute(bulk_sql("restore_scans"))

    def restore(self, job: str, jobs: int) -> None:
        """As for any drain, and sign operators in; the newest jobs are those that they look at."""
        super().restore(job, jobs)
        with self.runtime() as runtime, runtime.database.ledger() as tx:
            self.cookies = [self._signed_in(tx, number) for number in range(VIEWERS)]
            rows = tx.raw("select id from jobs where finished_at is null order by id desc limit 10")
        self.waiting = [str(row.id) for row in rows]
        self._gateway = ChildProcess(
            Command([str(self.interpreter()), "-m", "gateway", "--port", str(PORT)], self.environment(), ROOT),
            log=self._log,
        )
        self._gateway.start()
        wait_until(partial(answers, "/healthz"), within=60.0, describe="the gateway to answer")
        self.begin()

    def end(self) -> None:
        """Stop the gateway."""
        self._gateway.stop(within=30.0)

    @staticmethod
    def _signed_in(tx: Transaction, number: int) -> str:
        operator_id, link = operators.add(tx, f"v{number}@example.org", OperatorRole.ADMIN, None, by="bench")
        operators.use_link(tx, link, HASH)
        return f"postroom={operators.begin_session(tx, operator_id, HASH)}"


def answers(path: str) -> bool:
    """Whether the gateway is there."""
    try:
        return get(path, "")[0] == http.client.OK
    except OSError:
        return False


def get(path: str, cookie: str) -> tuple[int, float]:
    """Open a page; its status, and after how many seconds it was there."""
    began = time.perf_counter()
    connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=30)
    try:
        connection.request("GET", path, headers={"Cookie": cookie})
        answer = connection.getresponse()
        answer.read()
        return answer.status, time.perf_counter() - began
    finally:
        connection.close()


def pages() -> list[str]:
    """What can be opened without naming a thing: the overview, and the first page of each area."""
    return [BASE, *(f"{BASE}/{area.name}" for area in areas()), f"{BASE}/search/search?q=nothing", f"{BASE}/health"]


Times = dict[str, list[float]]


def open_pages(cookie: str, is_over: threading.Event, first: Times, again: Times) -> None:
    """Open one page after the other until the drain is over; `first` are the times of a gateway that has just begun."""
    taken = first
    while not is_over.is_set():
        for path in pages():
            status, seconds = get(path, cookie)
            if status < http.client.INTERNAL_SERVER_ERROR:
                taken[path].append(seconds)
            else:
                taken[f"{path} ({status})"].append(seconds)
            if is_over.wait(0.05):
                return
        taken = again


def look_on(cookie: str, job_id: str, is_over: threading.Event) -> None:
    """Keep the page of a job open, until its stream ends with the gateway: the stream, and the page when it changes.

    A read has no time limit of its own: after one, Python's client says that the stream has ended, again and again.
    """
    page = f"{BASE}/jobs/show?job_id={job_id}"
    connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=SILENCE_S)
    get(page, cookie)
    try:
        connection.request("GET", f"{BASE}/pulse?watch={job_id}", headers={"Cookie": cookie})
        stream, asked_at = connection.getresponse(), time.monotonic()
        for line in iter(stream.readline, b""):
            if not line.startswith(b"event: changed"):
                continue
            if is_over.wait(max(0.0, asked_at + FRESH_S - time.monotonic())):
                return
            asked_at = time.monotonic()
            get(page, cookie)
    finally:
        connection.close()


class Measured:
    """The drains of one kind: alone, with viewers, or while somebody opens pages."""

    def __init__(self, ours: Viewed, folder: Path, jobs: int) -> None:
        """Keep how much is drained."""
        self._ours, self._folder, self._jobs = ours, folder, jobs
        self.first: Times = defaultdict(list)
        self.taken: Times = defaultdict(list)

    def rate(self, kind: str) -> float:
        """Jobs per second of one drain."""
        is_over, threads = threading.Event(), list[threading.Thread]()

        def begin() -> None:
            # Before the clock starts: to open ten pages is not what open pages cost.
            threads.extend(threading.Thread(target=one, daemon=True) for one in self._visits(kind, is_over))
            for one in threads:
                one.start()

        self._ours.begin = begin
        try:
            return drain(DrainRun(self._ours, FEW_THREADS, "noop", self._jobs, 300.0), self._folder).rate
        finally:
            is_over.set()
            if kind == "pages":
                threads[0].join(40)
            self._ours.end()
            for one in threads:
                one.join(40)

    def _visits(self, kind: str, is_over: threading.Event) -> list[partial[None]]:
        match kind:
            case "pages":
                return [partial(open_pages, self._ours.cookies[0], is_over, self.first, self.taken)]
            case "viewers":
                each = zip(self._ours.cookies, self._ours.waiting, strict=True)
                return [partial(look_on, cookie, job_id, is_over) for cookie, job_id in each]
            case _:
                return []


def p95(taken: Sequence[float]) -> float:
    """The time within which 95 of 100 were there."""
    return sorted(taken)[int(len(taken) * 0.95)]


def measure(asked: argparse.Namespace, screen: Console) -> int:
    """Drain in turns, and say what was seen; the exit status is 0 when all is as it shall be."""
    with run_servers(asked.folder / "servers", durable=True) as servers:
        stores = Stores(servers)
        stores.spread_checkpoints()
        measured = Measured(Viewed(stores, asked.folder / "gateway.log", asked.finished), asked.folder, asked.jobs)
        kinds = {one: partial(measured.rate, one) for one in asked.kinds}
        rounds = take_turns(kinds, asked.rounds, screen.print)
    pages_s = {path: round(p95(taken), 3) for path, taken in sorted(measured.taken.items())}
    first_s = {path: round(max(taken), 3) for path, taken in sorted(measured.first.items())}
    rates = {kind: statistics.median(rates) for kind, rates in rounds.figures.items()}
    found = here_and_now() | {"rates": rounds.figures, "p95_s": pages_s, "first_s": first_s, "dropped": rounds.dropped}
    slow = {path: seconds for path, seconds in pages_s.items() if seconds >= P95_S or path.endswith(")")}
    if {"alone", "viewers"} <= rates.keys():
        found["cost_of_viewers"] = round(1 - rates["viewers"] / rates["alone"], 4)
    (asked.folder / "results.json").write_text(json.dumps(found, indent=2) + "\n")
    screen.print_json(data=found)
    return int(bool(slow or rounds.dropped or float(str(found.get("cost_of_viewers", 0))) >= COST))


def main(words: Sequence[str] | None = None) -> int:
    """Measure; writes `build/bench-console/results.json`."""
    parser = argparse.ArgumentParser(prog="python -m bench.console", description=__doc__)
    parser.add_argument("--jobs", type=int, default=100_000, help="of one drain; default 100000")
    parser.add_argument("--finished", type=int, default=100_000, help="jobs that have ended before; default 100000")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kinds", nargs="+", default=["alone", "viewers", "pages"])
    parser.add_argument("--folder", type=Path, default=FOLDER)
    asked = parser.parse_args(words)
    logs.configure("ERROR")
    screen = Console(highlight=False)
    try:
        with stopped_by_signals(), alone_in(asked.folder):
            return measure(asked, screen)
    except Stopped as stopped:
        return stopped.exit_status
    except Busy as reason:
        screen.print(str(reason))
        return 1


if __name__ == "__main__":
    sys.exit(main())
