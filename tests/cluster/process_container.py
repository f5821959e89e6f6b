"""A local process in place of a Docker container, for pytest-celery's nodes.

pytest-celery's nodes talk to the engine through `docker.models.containers.Container`. The class here answers the part
of that interface which its nodes use, with the same names and meanings, so that they run without a Docker engine.
"""

import signal
from pathlib import Path
from uuid import uuid4

from sandbox.servers.child_process import ChildProcess, Command
from tests.servers.python_processes import spawn_python

ENGINE_ID_LENGTH = 12
"""The length of a container's short id, which is its hostname."""


class ProcessContainer:
    """One process under the interface of docker-py's container; `logs` gathers over restarts, as an engine's do."""

    def __init__(self, name: str, command: Command, *, log: Path, container_id: str | None = None) -> None:
        """Start the command at once, as `docker run --detach` does."""
        self.id = container_id or new_id()
        self.name = name
        self.attrs = {
            "Config": {
                "Hostname": self.id,
                "Env": [f"{key}={value}" for key, value in (command.environment or {}).items()],
            },
            "HostConfig": {"PortBindings": {}},
            "NetworkSettings": {"Networks": {}, "Ports": {}},  # a process listens on the loopback as it is
        }
        self._process = ChildProcess(command, log=log, spawn=spawn_python)
        self._process.start()

    @property
    def status(self) -> str:
        """`running` while the process lives, frozen or not; `exited` afterwards."""
        return "running" if self._process.running else "exited"

    @property
    def pid(self) -> int:
        """The process id; another one after each restart."""
        return self._process.pid

    def wait(self) -> dict[str, int | None]:
        """The exit status of a process that has ended."""
        return {"StatusCode": self._process.exit_status}

    def reload(self) -> None:
        """Nothing to fetch: the status is asked of the process itself."""

    def logs(self) -> bytes:
        """Everything it wrote, over restarts."""
        return self._process.read_log().encode()

    def start(self) -> None:
        """Run again after `stop` or `kill`."""
        self._process.start()

    def stop(self, timeout: float = 10) -> None:
        """Ask it to end by SIGTERM; after `timeout` seconds kill it with its children."""
        self._process.stop(within=timeout)

    def restart(self, timeout: float = 10) -> None:
        """Stop, then start."""
        self.stop(timeout)
        self.start()

    def kill(self, signal: str | int | None = None) -> None:
        """Send a signal, SIGKILL unless another is given, to the main process alone; wait for the end if it is that."""
        which = signal_named(signal)
        if which == SIGKILL:
            self._process.kill()
        else:
            self._process.send(which)

    def kill_all(self) -> None:
        """Send SIGKILL to the process and every child of it at once, as a crash of the machine would."""
        self._process.sweep()
        self._process.wait(within=10.0)

    def pause(self) -> None:
        """Freeze the process and its children."""
        self._process.freeze()

    def unpause(self) -> None:
        """Continue the process and its children."""
        self._process.thaw()

    def remove(self, *, force: bool = False) -> None:
        """End it for good; with `force` at once, with every child that it started."""
        if force:
            self._process.sweep()
        self._process.stop()


SIGKILL = signal.SIGKILL


def signal_named(name: str | int | None) -> signal.Signals:
    """`SIGTERM`, `TERM` or 15, as docker-py takes them; nothing means SIGKILL."""
    if name is None:
        return SIGKILL
    if isinstance(name, int):
        return signal.Signals(name)
    return signal.Signals[f"SIG{name.removeprefix('SIG')}"]


def new_id() -> str:
    """An id like a container's short id."""
    return uuid4().hex[:ENGINE_ID_LENGTH]
