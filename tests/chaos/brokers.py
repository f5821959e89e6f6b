"""The broker of a chaos run, by what is done to it: be wiped while it runs, and be killed and started empty."""

from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

import redis

from sandbox.servers.free_port import LOOPBACK
from sandbox.servers.rabbitmq_server import RabbitServer
from sandbox.servers.valkey_server import ValkeyServer


class Broker(Protocol):
    """What the run needs of a broker."""

    name: str
    port: int

    def url(self, port: int) -> str:
        """Its address as the fleet takes it, at the port of a proxy."""

    def wipe(self) -> None:
        """Let it forget everything while it goes on running."""

    def restart_empty(self) -> None:
        """Kill it and start it without its data."""

    def __enter__(self) -> Self:
        """Start."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop."""


class ValkeyBroker:
    """Valkey from the wheel, which keeps nothing on disk."""

    name = "valkey"

    def __init__(self, folder: Path) -> None:
        """Keep its log in `folder`."""
        self._server = ValkeyServer(folder)
        self.port = self._server.port

    def url(self, port: int) -> str:
        return f"redis://{LOOPBACK}:{port}/0"

    def wipe(self) -> None:
        with redis.Redis.from_url(self._server.url()) as client:
            client.flushall()

    def restart_empty(self) -> None:
        self._server.kill()
        self._server.start()

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.stop()


class RabbitBroker:
    """RabbitMQ where it is installed, with durable queues: a wipe is a reset, or a death that takes the disk along."""

    name = "rabbitmq"

    def __init__(self, folder: Path) -> None:
        """Keep data and log in `folder`; `LookupError` when it is not installed."""
        self._server = RabbitServer(folder)
        self.port = self._server.port

    def url(self, port: int) -> str:
        return self._server.url(port)

    def wipe(self) -> None:
        self._server.wipe()

    def restart_empty(self) -> None:
        self._server.kill(data=False)
        self._server.start()

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.stop()


BROKERS: dict[str, Callable[[Path], Broker]] = {"valkey": ValkeyBroker, "rabbitmq": RabbitBroker}
"""By the name that `--broker` takes."""
