"""pytest-celery's worker and broker nodes for our fleet: local processes, or containers on request.

Where `POSTROOM_TEST_IMAGE` names an image that has Postroom installed in its working folder, each node runs in a
container of it (the broker in `POSTROOM_TEST_BROKER_IMAGE`) on the host's network, through the Docker engine. That path
is written after docker-py's and pytest-celery's interfaces and has NOT been run: no engine was at hand. The default,
local processes, needs none and is what every test of this repository has been run with.
"""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import docker
import psutil
import redis
from pytest_celery import CeleryTestWorker, CeleryWorkerContainer, RedisContainer, RedisTestBroker

from sandbox.servers.child_process import Command
from sandbox.servers.free_port import LOOPBACK, find_free_port
from sandbox.servers.valkey_server import valkey_arguments
from tests.cluster.process_container import ProcessContainer, new_id
from tests.house.reading import ROOT
from tests.waiting import eventually

WORKER_IMAGE = os.environ.get("POSTROOM_TEST_IMAGE")
BROKER_IMAGE = os.environ.get("POSTROOM_TEST_BROKER_IMAGE", "valkey/valkey:9")
GENEROUS_S = 60.0
"""How long a node may take to start or end on a busy machine of two cores, in seconds."""


@dataclass(frozen=True)
class WorkerCommand:
    """One `celery -A <app> worker -Q <queues> --pool <pool> …`, as an operator would type it."""

    queues: tuple[str, ...]
    pool: str = "threads"
    concurrency: int = 2
    app: str = "tasks"
    name: str = "worker"
    options: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)

    def arguments(self, hostname: str) -> list[str]:
        """The words after the interpreter; the node is called `<name>@<hostname>`."""
        worker = ["-m", "celery", "-A", self.app, "worker", "--loglevel=INFO", "-n", f"{self.name}@{hostname}"]
        return [*worker, "-Q", ",".join(self.queues), "-P", self.pool, "-c", str(self.concurrency), *self.options]


class WorkerContainer(CeleryWorkerContainer):  # type: ignore[misc]  # pytest-celery ships no types
    """pytest-celery's worker container, told what it runs instead of reading it from its class."""

    def __init__(self, engine_container: Any, command: WorkerCommand) -> None:  # noqa: ANN401  # docker-py's or ours
        super().__init__(engine_container)
        self.engine_container = engine_container
        self.worker_command = command
        self._starts = 1

    def log_level(self) -> str:
        return "INFO"

    def worker_name(self) -> str:
        return self.worker_command.name

    def worker_queue(self) -> str:
        return ",".join(self.worker_command.queues)

    def begin(self) -> None:
        self._starts += 1
        self.engine_container.start()

    def restart(self, timeout: float = GENEROUS_S) -> None:
        self._starts += 1
        super().restart(timeout=timeout)

    def teardown(self) -> None:
        self.engine_container.remove(force=True)

    def ready(self) -> bool:
        return self._wait_ready()

    def _wait_ready(self, timeout: float = GENEROUS_S) -> bool:
        eventually(lambda: self.settled, within=timeout, describe=f"{self.name} to be ready or to end")
        assert self.status == "running", f"{self.name} ended instead of getting ready:\n{self.logs()[-3000:]}"
        return True

    @property
    def settled(self) -> bool:
        """Whether it is ready or has ended; the log keeps earlier runs, each with its own prompt."""
        self.reload()
        return bool(self.status != "running" or self.logs().count(self.ready_prompt) >= self._starts)


class WorkerNode(CeleryTestWorker):  # type: ignore[misc]  # pytest-celery ships no types
    """A worker that can be stopped, started, killed (`kill()`), restarted, frozen and thawed, and whose log is read."""

    @property
    def pid(self) -> int:
        return int(self.container.engine_container.pid)

    @property
    def exit_status(self) -> int | None:
        """With what it ended; None while it runs."""
        self.container.reload()
        engine = self.container.engine_container
        status: int | None = None if self.alive else engine.wait()["StatusCode"]
        return status

    @property
    def children(self) -> list[psutil.Process]:
        """The processes that it has started."""
        return list(psutil.Process(self.pid).children(recursive=True))

    @property
    def alive(self) -> bool:
        self.container.reload()
        return bool(self.container.status == "running")

    def start(self) -> None:
        self.container.begin()
        self.ready()

    def stop(self) -> None:
        """Warm shutdown: SIGTERM, then wait for the end."""
        self.container.engine_container.stop(timeout=GENEROUS_S)

    def kill_all(self) -> None:
        """End the worker and its children at once; a container takes its children with it anyway."""
        engine = self.container.engine_container
        getattr(engine, "kill_all", engine.kill)()

    def freeze(self) -> None:
        self.container.engine_container.pause()

    def thaw(self) -> None:
        self.container.engine_container.unpause()

    def wait_for_log(self, log: str, message: str = "", timeout: float = GENEROUS_S) -> None:
        """As pytest-celery's, but polled fifty times a second instead of once."""
        describe = message or f"{self.name()} to log {log!r}"
        eventually(lambda: log in self.logs(), within=timeout, describe=describe)


class BrokerContainer(RedisContainer):  # type: ignore[misc]  # pytest-celery ships no types
    """pytest-celery's Redis container on a port of the loopback that survives restarts; it holds a Valkey."""

    def __init__(self, engine_container: Any, port: int) -> None:  # noqa: ANN401  # docker-py's or ours
        super().__init__(engine_container)
        self.engine_container = engine_container
        self._port = port

    @property
    def port(self) -> int:
        return self._port

    @property
    def hostname(self) -> str:
        return LOOPBACK

    @property
    def url(self) -> str:
        return f"{self.prefix()}{LOOPBACK}:{self.port}/{self.vhost}"

    @property
    def host_url(self) -> str:
        return self.url

    def teardown(self) -> None:
        self.engine_container.remove(force=True)

    def ready(self) -> bool:
        return self._wait_ready()

    def _wait_ready(self, timeout: float = GENEROUS_S) -> bool:
        return eventually(lambda: self.answers, within=timeout, describe=f"the broker {self.name}")

    @property
    def answers(self) -> bool:
        """Whether it takes commands."""
        try:
            with self.client as client:
                return bool(client.ping())
        except redis.ConnectionError:
            return False


class BrokerNode(RedisTestBroker):  # type: ignore[misc]  # pytest-celery ships no types
    """A broker that can be stopped, started, killed and restarted; each time it comes back empty."""

    @property
    def url(self) -> str:
        return str(self.config()["host_url"])

    def start(self) -> None:
        self.container.engine_container.start()
        self.ready()

    def stop(self) -> None:
        self.container.engine_container.stop(timeout=GENEROUS_S)

    def flush(self) -> None:
        """Lose all its data while it goes on running (FLUSHALL)."""
        with self.container.client as client:
            client.flushall()


def run_worker(command: WorkerCommand, environment: Mapping[str, str], folder: Path) -> WorkerNode:
    """Start one worker with its log under `folder`; call `ready()` on it before you rely on it.

    `environment` is what the whole cluster shares; the command's own goes over it.
    """
    hostname = new_id()
    arguments = command.arguments(hostname)
    environment = {**environment, **command.environment, "PYTHONUNBUFFERED": "1"}
    if WORKER_IMAGE:
        engine = _run_in_engine(WORKER_IMAGE, ["python", *arguments], environment, hostname)
    else:
        process = Command([sys.executable, *arguments], environment=environment, folder=ROOT)
        log = folder / f"{command.name}-{hostname}.log"
        engine = ProcessContainer(f"{command.name}-{hostname}", process, log=log, container_id=hostname)
    return WorkerNode(WorkerContainer(engine, command), app=None)


def run_broker(folder: Path) -> BrokerNode:
    """Start an empty broker on a free port, with its log under `folder`."""
    port = find_free_port()
    arguments = valkey_arguments(port)
    if WORKER_IMAGE:
        engine = _run_in_engine(BROKER_IMAGE, ["valkey-server", *arguments[1:]], {}, new_id())
    else:
        folder.mkdir(parents=True, exist_ok=True)
        engine = ProcessContainer("broker", Command(arguments, folder=folder), log=folder / "broker.log")
    return BrokerNode(BrokerContainer(engine, port))


def _run_in_engine(image: str, words: list[str], environment: Mapping[str, str], hostname: str) -> Any:  # noqa: ANN401  # docker-py ships no types
    client = docker.from_env()
    return client.containers.run(
        image, words, environment=dict(environment), name=hostname, network_mode="host", detach=True, init=True
    )
