"""A peer as a contender: its program in its own environment, on a copy of a backlog enqueued by its own client."""

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.contenders.contender import ROOT, Setting
from bench.measured_job import VARIABLE
from bench.run_folder import RunFolder
from bench.stores import RUN_DATABASE, Stores, bulk_sql

MINUTES = 20


@dataclass(frozen=True)
class Kind:
    """What is known of a peer: where its jobs are stored, and its good settings; a tuning round finds the best."""

    name: str
    unfinished: str | None
    """The query that counts unfinished jobs in its database; None for a peer that keeps its jobs in the broker."""
    drain: tuple[Setting, ...]
    tables: str | None = None
    """The statements in `bench/sql` that make the tables which its jobs write to, for a peer of the broker's."""
    io_bound: Setting | None = None
    idle: Setting | None = None

    @property
    def durable(self) -> bool:
        """Whether its jobs survive a crash of the machine."""
        return self.unfinished is not None


class Peer:
    """One peer."""

    def __init__(self, kind: Kind, python: Path, stores: Stores) -> None:
        """`python` is the interpreter of the peer's own environment."""
        self.kind = kind
        self.name = kind.name
        self._python = python
        self._stores = stores

    def restore(self, job: str, jobs: int) -> None:
        """Copy the backlog; the first call for a backlog enqueues it."""
        backlog = f"{self.name}_{job}_{jobs}"
        if self.kind.durable:
            if not self._stores.has_database(backlog):
                self._fill_database(backlog, job, jobs)
            self._stores.make_database(RUN_DATABASE, backlog)
            self._stores.vacuum()
            return
        if self.kind.tables:
            self._stores.make_database(RUN_DATABASE)
            self._stores.execute(bulk_sql(self.kind.tables))
            self._stores.vacuum()
        if not self._stores.has_backlog(backlog) and jobs:
            self._call("fill", job, str(jobs), broker=self._stores.backlog_url(backlog))
        if jobs:
            self._stores.restore_backlog(backlog)
        else:
            self._stores.empty_broker()

    def enqueue_many(self, job: str, jobs: int) -> float:
        """Seconds to enqueue `jobs` jobs in bulk into empty stores."""
        self.restore(job, 0)
        return self._seconds("fill", job, str(jobs))

    def enqueue_singly(self, jobs: int) -> float:
        """Seconds to enqueue `jobs` jobs one by one into empty stores."""
        self.restore("noop", 0)
        return self._seconds("single", str(jobs))

    def environment(self) -> Mapping[str, str]:
        """The addresses of its stores, as environment variables."""
        return {"BENCH_DATABASE_URL": self._stores.database_url(), "BENCH_BROKER_URL": self._stores.broker_url()}

    def interpreter(self) -> Path:
        """The interpreter of its own environment."""
        return self._python

    def command(self, *words: str) -> list[str]:
        """Its own program with these arguments."""
        return [str(self._python), "-m", f"bench.peers.with_{self.name}", *words]

    def settled(self) -> bool:
        """Ask its database; for a peer without one the number of executions is all that is known."""
        return self.kind.unfinished is None or not self._stores.scalar(self.kind.unfinished)

    def latency(self, run_folder: RunFolder, samples: int) -> None:
        """Enqueue `samples` jobs with its own client."""
        self._call("latency", str(samples), run_folder=run_folder)

    def _fill_database(self, backlog: str, job: str, jobs: int) -> None:
        self._stores.make_database(backlog)
        url = self._stores.database_url(backlog)
        self._call("install", database=url)
        if jobs:
            self._call("fill", job, str(jobs), database=url)

    def _seconds(self, *words: str) -> float:
        answer = self._call(*words).strip().splitlines()[-1]
        return float(json.loads(answer)["seconds"])

    def _call(
        self, *words: str, database: str | None = None, broker: str | None = None, run_folder: RunFolder | None = None
    ) -> str:
        environment = {**os.environ, **self.environment()}
        if database:
            environment["BENCH_DATABASE_URL"] = database
        if broker:
            environment["BENCH_BROKER_URL"] = broker
        if run_folder:
            environment[VARIABLE] = str(run_folder.folder)
        try:
            return subprocess.run(  # noqa: S603  # our own program
                self.command(*words),
                cwd=ROOT,
                env=environment,
                capture_output=True,
                text=True,
                check=True,
                timeout=60 * MINUTES,
            ).stdout
        except subprocess.SubprocessError as error:
            output = getattr(error, "stderr", None) or str(error)
            raise RuntimeError(f"{self.name} {words[0]}: {output}") from error
