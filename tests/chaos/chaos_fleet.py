"""The fleet of a chaos run: its own servers, two sides behind proxies, and processes that are kept running."""

import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, cast

import psutil
import psycopg
from pydantic import SecretStr

from sandbox.servers.child_process import ChildProcess, Command
from sandbox.servers.free_port import LOOPBACK
from sandbox.servers.postgres_server import OWNER, PostgresServer
from sandbox.servers.tcp_proxy import TcpProxy
from sandbox.servers.waiting import wait_until
from settings import Settings
from storage.postgres.migrate import upgrade
from tests.chaos.brokers import Broker
from tests.chaos.outside import FOLDER
from tests.house.reading import ROOT

START_WITHIN_S = 90.0
STARTING_S = 15.0
"""How long a worker on a busy machine may take to its first turn."""
STOP_WITHIN_S = 20.0
ALL_QUEUES = "critical,default,notifications,planning,exports,maintenance,deadletter"
QUIET_OPTIONS = ["--without-gossip", "--without-mingle", "--without-heartbeat", "--include", "tests.chaos.chaos_jobs"]

POOLS = (("prefork", 2), ("threads", 6), ("threads", 6), ("prefork", 2))
"""Pool and concurrency of each worker, alternating between the sides; the first two have both pools and both sides."""


@dataclass(frozen=True)
class Side:
    """One half of the fleet, with its own proxies to PostgreSQL and to the broker."""

    database: TcpProxy
    broker: TcpProxy

    def urls(self, broker: Broker) -> dict[str, str]:
        """The addresses through this side's proxies, as settings."""
        database = f"postgresql://{OWNER}@{LOOPBACK}:{self.database.port}/postgres"
        return {"database_url": database, "broker_url": broker.url(self.broker.port)}


class Member:
    """A process of the fleet that is started again whenever it ends."""

    def __init__(self, name: str, words: list[str], environment: dict[str, str], folder: Path) -> None:
        """Prepare; nothing runs yet."""
        self.name = name
        self.frozen = False
        self.ended: list[str] = []
        """Ends that no fault explains; each is a failure of the run."""
        self._expected = True
        self._stopped = False
        self._started_at = self._may_end_until = 0.0
        command = Command([sys.executable, "-m", "celery", *words], environment=environment, folder=ROOT)
        self.process = ChildProcess(command, log=folder / f"{name}.log")

    def keep_up(self) -> None:
        """Start it when it does not run."""
        if self.process.running or self._stopped:
            return
        if not self._expected and time.monotonic() > self._may_end_until:
            self.ended.append(f"{self.name} ended by itself, with status {self.process.exit_status}")
        self.process.start()
        self._started_at = time.monotonic()
        self._expected = False

    def stop(self) -> None:
        """Stop it with its stop signal, and do not start it again."""
        self._stopped = True
        self.process.stop(within=STOP_WITHIN_S)

    def lost_child(self) -> None:
        """Allow it to end if it has just started: Celery gives up when a child dies before the worker's first turn."""
        if time.monotonic() - self._started_at < STARTING_S:
            self._may_end_until = time.monotonic() + STARTING_S

    def kill(self) -> None:
        """Kill it; `keep_up` starts it again."""
        self._expected = True
        self.process.kill()

    def children(self) -> list[psutil.Process]:
        """The processes it has forked."""
        try:
            return list(psutil.Process(self.process.pid).children(recursive=True)) if self.process.running else []
        except psutil.NoSuchProcess:
            return []


class ChaosFleet:
    """A context manager: starts everything, and stops it at the end."""

    def __init__(self, folder: Path, broker: Broker, lease_s: float, workers: int = len(POOLS)) -> None:
        """Keep data and logs under `folder`; take the first `workers` of the pools."""
        self._pools = POOLS[:workers]
        self.folder = folder
        self.broker = broker
        self.postgres = PostgresServer(folder / "postgres", durable=True)
        self.settings = Settings(
            database_url=SecretStr(self.postgres.url()), broker_url=SecretStr(broker.url(broker.port))
        )
        self.sides: tuple[Side, ...] = ()
        self.workers: list[Member] = []
        self.beats: list[Member] = []
        self._quick = {
            "lease_s": str(lease_s),
            "provider_call_limit_s": str(lease_s / 2),
            # Long: a hint that is not claimed within this time is published again, and each one costs a claim.
            "hint_timeout_s": str(6 * lease_s),
            "shutdown_grace_s": "5",
            "statement_timeout_s": "5",
            "log_level": "WARNING",
        }
        self._stack = ExitStack()

    @property
    def members(self) -> list[Member]:
        """All workers and beats."""
        return [*self.workers, *self.beats]

    def settings_of(self, side: int) -> Settings:
        """Settings of a client of one side, as its workers have them."""
        return Settings.model_validate(self._quick | self.sides[side].urls(self.broker))

    def __enter__(self) -> Self:
        """Start servers, proxies and processes, and wait until every worker has its lease."""
        with ExitStack() as failed:
            failed.callback(self._stack.close)
            self._stack.enter_context(self.postgres)
            self._stack.enter_context(self.broker)
            upgrade(self.settings)
            self.sides = tuple(Side(*map(self._stack.enter_context, self._proxies())) for _ in "ab")
            self._stack.callback(self._stop_all)
            self.workers = [*self._workers()]
            self.beats = [
                self._member(f"beat-{n}", ["-A", "tests.chaos.chaos_beat", "beat", "--pidfile="], n) for n in (0, 1)
            ]
            self.keep_up()
            wait_until(
                self.ready, within=START_WITHIN_S, describe="every worker to have a lease and the relay a leader"
            )
            failed.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop everything, the processes before what they stand on."""
        self._stack.close()

    def keep_up(self) -> None:
        """Start every process that has ended."""
        for member in self.members:
            member.keep_up()

    def stop_beats(self) -> None:
        """Stop all beats: a tick that is enqueued after the last look would count as lost."""
        for beat in self.beats:
            beat.stop()

    def ready(self) -> bool:
        """Whether every worker command has registered and one of them leads the relay."""
        pids = {member.process.pid for member in self.workers}
        return pids <= {row[0] for row in self.ask("select pid from workers")} and self.leader() is not None

    def leader(self) -> Member | None:
        """The worker command whose relay leads now."""
        rows = self.ask(
            "select l.pid from relay_leader l join pg_stat_activity a on a.pid = l.backend_pid"
            " where a.backend_start = l.backend_start and l.leads_until > clock_timestamp()"
        )
        leaders = {pid for (pid,) in rows}
        return next(
            (worker for worker in self.workers if worker.process.running and worker.process.pid in leaders), None
        )

    def ask(self, query: str, *parameters: object) -> list[tuple[Any, ...]]:
        """Query the ledger as its owner, not through the proxies."""
        with psycopg.connect(self.postgres.url(), autocommit=True, connect_timeout=5) as owner:
            cursor = owner.execute(cast("Any", query), parameters)
            return cursor.fetchall() if cursor.description else []

    def heal(self) -> None:
        """End every stall and freeze."""
        for side in self.sides:
            side.database.trickle(every_s=None)
            side.database.resume()
            side.broker.resume()
        for member in self.workers:
            if member.frozen:
                member.process.thaw()
                member.frozen = False

    def _proxies(self) -> tuple[TcpProxy, TcpProxy]:
        return TcpProxy(self.postgres.port), TcpProxy(self.broker.port)

    def _workers(self) -> Iterator[Member]:
        for number, (pool, concurrency) in enumerate(self._pools):
            name = f"{pool}-{number}"
            words = [
                "-A",
                "tasks",
                "worker",
                "-n",
                f"{name}@chaos",
                "-Q",
                ALL_QUEUES,
                "-P",
                pool,
                "-c",
                str(concurrency),
            ]
            yield self._member(name, [*words, "--loglevel=WARNING", *QUIET_OPTIONS], number)

    def _member(self, name: str, words: list[str], number: int) -> Member:
        values = self._quick | self.sides[number % 2].urls(self.broker)
        environment = {f"POSTROOM_{key.upper()}": value for key, value in values.items()}
        return Member(name, words, environment | {FOLDER: str(self.folder)}, self.folder / "logs")

    def _stop_all(self) -> None:
        self.heal()
        for member in self.members:
            member.process.send(member.process.stop_signal)
        for member in self.members:
            member.process.stop(within=STOP_WITHIN_S)
