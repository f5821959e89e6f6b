"""A peer as a contender: its program in its own environment, on a copy of a backlog that its own client enqueued."""

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.contender import ROOT, Setting
from bench.course import Course
from bench.stores import PLAY, Stores
from bench.tick import VARIABLE

MINUTES = 20


@dataclass(frozen=True)
class Kind:
    """What is known of a peer: where its truth lies, and its good settings, of which a heat finds the best."""

    name: str
    unfinished: str | None
    """Counts the jobs that its database does not say are done; None for a peer whose truth is in the broker."""
    drain: tuple[Setting, ...]
    nap: Setting | None = None
    idle: Setting | None = None

    @property
    def durable(self) -> bool:
        """Whether its jobs survive the machine."""
        return self.unfinished is not None


class Peer:
    """One peer."""

    def __init__(self, kind: Kind, python: Path, stores: Stores) -> None:
        """Use its environment's interpreter."""
        self.kind = kind
        self.name = kind.name
        self._python = python
        self._stores = stores

    def restore(self, job: str, jobs: int) -> None:
        """Copy the backlog, which is enqueued when it is first asked for."""
        backlog = f"{self.name}_{job}_{jobs}"
        if self.kind.durable:
            if not self._stores.has_database(backlog):
                self._fill_database(backlog, job, jobs)
            self._stores.make_database(PLAY, backlog)
            self._stores.settle()
            return
        if not self._stores.has_backlog(backlog) and jobs:
            self._call("fill", job, str(jobs), broker=self._stores.backlog_url(backlog))
        if jobs:
            self._stores.restore_backlog(backlog)
        else:
            self._stores.empty_broker()

    def enqueue_many(self, job: str, jobs: int) -> float:
        """Seconds to enqueue so many in bulk, into empty stores."""
        self.restore(job, 0)
        return self._seconds("fill", job, str(jobs))

    def enqueue_singly(self, jobs: int) -> float:
        """Seconds to enqueue so many one by one, into empty stores."""
        self.restore("noop", 0)
        return self._seconds("single", str(jobs))

    def environment(self) -> Mapping[str, str]:
        """The addresses of its stores."""
        return {"BENCH_DATABASE_URL": self._stores.database_url(), "BENCH_BROKER_URL": self._stores.broker_url()}

    def interpreter(self) -> Path:
        """Its own."""
        return self._python

    def settled(self) -> bool:
        """Ask its database; of a peer without one the executions are all that is known."""
        return self.kind.unfinished is None or not self._stores.scalar(self.kind.unfinished)

    def latency(self, course: Course, samples: int) -> None:
        """Let its client enqueue."""
        self._call("latency", str(samples), course=course)

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
        self, *words: str, database: str | None = None, broker: str | None = None, course: Course | None = None
    ) -> str:
        environment = {**os.environ, **self.environment()}
        if database:
            environment["BENCH_DATABASE_URL"] = database
        if broker:
            environment["BENCH_BROKER_URL"] = broker
        if course:
            environment[VARIABLE] = str(course.folder)
        command = [str(self._python), "-m", f"bench.peers.with_{self.name}", *words]
        try:
            return subprocess.run(  # noqa: S603  # our own program
                command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True, timeout=60 * MINUTES
            ).stdout
        except subprocess.SubprocessError as error:
            told = getattr(error, "stderr", None) or str(error)
            raise RuntimeError(f"{self.name} {words[0]}: {told}") from error
