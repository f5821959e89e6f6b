"""Valkey 9 from the wheel as a child process: the broker of the local stack, which keeps nothing when it stops."""

from collections.abc import Sequence
from pathlib import Path

import redis

from sandbox.servers.child_process import ChildProcess, Command
from sandbox.servers.free_port import LOOPBACK, find_free_port
from sandbox.servers.startable import ServerProcess
from sandbox.servers.wheel_binaries import find_valkey_program

DATABASES = 256
"""Numbered databases of one server, so that many tests can have one each."""


class ValkeyServer(ServerProcess):
    """A broker on the loopback whose address survives `restart` and `kill` + `start`; its data does not."""

    title = "Valkey"

    def __init__(self, folder: Path, *, port: int | None = None, options: Sequence[str] = ()) -> None:
        """Keep log and working files in `folder`; choose a free port unless one is given."""
        self.folder = folder
        self.port = find_free_port() if port is None else port
        self.process = ChildProcess(
            Command(arguments=[*valkey_arguments(self.port), *options], folder=folder),
            log=folder / "valkey.log",
        )

    def url(self, database: int = 0) -> str:
        """The address of one numbered database, as Celery and redis-py take it."""
        return f"redis://{LOOPBACK}:{self.port}/{database}"

    def start(self, *, within: float = 10.0) -> None:
        """Start and wait until it answers; `TimeoutError` or `RuntimeError` with the log's end if it does not."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.start_process(within=within)

    def stop(self) -> None:
        """Shut down in good order; connections are closed and all data is gone."""
        self.process.stop(within=10.0)

    def kill(self) -> None:
        """End it with SIGKILL."""
        self.process.kill()

    def answers(self) -> bool:
        """Whether this very server answers a command."""
        try:
            with redis.Redis.from_url(self.url(), socket_timeout=1) as client:
                # Another server may hold the port until ours notices that it cannot have it.
                return bool(client.info("server")["process_id"] == self.process.pid)
        except redis.ConnectionError:
            return False


def valkey_arguments(port: int) -> list[str]:
    """The command of a broker on the loopback that keeps nothing on disk."""
    settings = {
        "bind": LOOPBACK,
        "port": str(port),
        "databases": str(DATABASES),
        "save": "",  # no snapshots: what the broker loses must be restored from the ledger (promise P1)
        "appendonly": "no",
        "daemonize": "no",
    }
    options = [word for name, value in settings.items() for word in (f"--{name}", value)]
    return [str(find_valkey_program()), *options]
