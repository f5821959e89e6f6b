"""The broker of a chaos run: one that can be wiped while it runs, and killed and started empty."""

from abc import abstractmethod
from collections.abc import Callable
from pathlib import Path

import redis

from sandbox.servers.free_port import LOOPBACK
from sandbox.servers.rabbitmq_server import RabbitServer
from sandbox.servers.startable import Startable
from sandbox.servers.valkey_server import ValkeyServer


class Broker(Startable):
    """A broker as a context manager: started on the way in, stopped on the way out."""

    name: str

    def __init__(self, server: ValkeyServer | RabbitServer) -> None:
        """Run this server."""
        self.port = server.port
        self._server = server

    @abstractmethod
    def url(self, port: int) -> str:
        """The broker's URL through the proxy at `port`."""

    @abstractmethod
    def wipe(self) -> None:
        """Delete all data while the broker runs."""

    @abstractmethod
    def restart_empty(self) -> None:
        """Kill the broker and start it without its data."""

    def start(self) -> None:
        """Start the server."""
        self._server.start()

    def stop(self) -> None:
        """Stop the server."""
        self._server.stop()


class ValkeyBroker(Broker):
    """Valkey from the wheel, which keeps nothing on disk."""

    name = "valkey"

    def __init__(self, folder: Path) -> None:
        """Keep its log in `folder`."""
        self._valkey = ValkeyServer(folder)
        super().__init__(self._valkey)

    def url(self, port: int) -> str:
        return f"redis://{LOOPBACK}:{port}/0"

    def wipe(self) -> None:
        with redis.Redis.from_url(self._valkey.url()) as client:
            client.flushall()

    def restart_empty(self) -> None:
        self._valkey.kill()
        self._valkey.start()


class RabbitBroker(Broker):
    """RabbitMQ where it is installed, with durable queues; wiping it resets its node."""

    name = "rabbitmq"

    def __init__(self, folder: Path) -> None:
        """Keep data and log in `folder`; `LookupError` when it is not installed."""
        self._rabbit = RabbitServer(folder)
        super().__init__(self._rabbit)

    def url(self, port: int) -> str:
        return self._rabbit.url(port)

    def wipe(self) -> None:
        self._rabbit.wipe()

    def restart_empty(self) -> None:
        self._rabbit.kill(data=False)
        self._rabbit.start()


BROKERS: dict[str, Callable[[Path], Broker]] = {"valkey": ValkeyBroker, "rabbitmq": RabbitBroker}
"""By the name that `--broker` takes."""
