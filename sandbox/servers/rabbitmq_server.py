"""RabbitMQ as a child process, where it is installed: the other broker that the fleet can run on."""

import shutil
import socket
import subprocess
from pathlib import Path

from sandbox.servers.child_process import ChildProcess, Command
from sandbox.servers.free_port import LOOPBACK, find_free_port
from sandbox.servers.startable import ServerProcess

PLACES = ("/usr/lib/rabbitmq/bin", "/usr/local/sbin", "/opt/homebrew/sbin")
"""Where packages install the programs; a program on the path may be a wrapper that changes the user."""
COMMAND_WITHIN_S = 60.0
GREETED_WITHIN_S = 5.0
ADD_VIRTUAL_HOST = """
ok = rabbit_vhost:add(<<"{name}">>, <<"guest">>),
ok = rabbit_auth_backend_internal:set_permissions(<<"guest">>, <<"{name}">>, <<".*">>, <<".*">>, <<".*">>, <<"guest">>).
"""
"""Both in one command, for each starts an Erlang."""
GREETING, METHOD_FRAME = b"AMQP\0\0\x09\x01", b"\x01"
"""A client's first bytes, and the first one of the server's answer (AMQP 0-9-1, sections 4.2.2 and 4.2.3)."""
IDLE = "+sbwt none +sbwtdcpu none +sbwtdio none"
"""Schedulers of Erlang that have nothing to do sleep at once: they share two cores with everything else."""


class RabbitServer(ServerProcess):
    """A node on the loopback with durable data, and a port mapper of its own, so that `stop` can end that too."""

    title = "RabbitMQ"

    def __init__(self, folder: Path) -> None:
        """Keep data, log and cookie in `folder`; `LookupError` when RabbitMQ is not installed."""
        self.folder = folder.absolute()
        self.port = find_free_port()
        self._mapper_port, distribution = find_free_port(), find_free_port()
        # A node's name is part of its file names. The cookie is written to HOME, readable by its owner only.
        self._environment = {
            "HOME": str(self.folder),
            "ERL_EPMD_PORT": str(self._mapper_port),
            "ERL_EPMD_ADDRESS": LOOPBACK,
            "RABBITMQ_NODENAME": f"postroom{self.port}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": LOOPBACK,
            "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_DIST_PORT": str(distribution),
            "RABBITMQ_MNESIA_BASE": str(self.folder / "data"),
            "RABBITMQ_LOG_BASE": str(self.folder / "log"),
            "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            "RABBITMQ_CONFIG_FILE": str(self.folder / "none"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self.folder / "plugins"),
            "RABBITMQ_LOGS": "-",
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": IDLE,
        }
        self._mapper = ChildProcess(
            Command([find_program("epmd"), "-port", str(self._mapper_port)], self._environment, self.folder),
            log=self.folder / "epmd.log",
        )
        self.process = ChildProcess(
            Command([find_program("rabbitmq-server")], self._environment, self.folder), log=self.folder / "rabbit.log"
        )

    def url(self, port: int | None = None, host: str = "/") -> str:
        """Its address as Celery takes it, or the same at the port of a proxy, or of another virtual host."""
        return f"amqp://guest:guest@{LOOPBACK}:{port or self.port}/{host}"

    def start(self, *, within: float = 120.0) -> None:
        """Start and wait until it takes connections."""
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "plugins").write_text("[].\n")
        if not self._mapper.running:
            self._mapper.start()
        self.start_process(within=within)

    def add_virtual_host(self, name: str) -> None:
        """Make another broker in this one, empty, and of the same users; `name` is of letters and digits."""
        self._control("eval", ADD_VIRTUAL_HOST.format(name=name))

    def wipe(self) -> None:
        """Delete all data, queues too, while it runs; its clients are disconnected for a moment."""
        for word in ("stop_app", "reset", "start_app"):
            self._control(word)

    def set_memory_alarm(self, *, on: bool) -> None:
        """Let it believe that its memory is full, when it takes no messages; or no longer."""
        self._control("set_vm_memory_high_watermark", *(("absolute", "1MB") if on else ("0.6",)))

    def kill(self, *, data: bool) -> None:
        """End it with SIGKILL; without `data` the next start finds nothing."""
        self.process.sweep()
        self.process.stop(within=10.0)
        if not data:
            shutil.rmtree(self.folder / "data", ignore_errors=True)

    def stop(self) -> None:
        """End it and its port mapper, without a clean shutdown: its data is not needed any more."""
        if self.process.running:
            self.kill(data=True)
        self.process.stop()  # it has ended; its lifeline has not
        self._mapper.stop()

    def answers(self) -> bool:
        """Whether it greets clients; RabbitMQ's own check starts an Erlang for each question."""
        try:
            with socket.create_connection((LOOPBACK, self.port), timeout=GREETED_WITHIN_S) as client:
                client.sendall(GREETING)
                return client.recv(1) == METHOD_FRAME
        except OSError:
            return False

    def _control(self, *words: str) -> None:
        done = self._run("rabbitmqctl", *words)
        if done.returncode != 0:
            raise RuntimeError(f"rabbitmqctl {words[0]}: {done.stderr.strip()}")

    def _run(self, program: str, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(  # noqa: S603  # RabbitMQ's own command line
            [find_program(program), "-q", *words],
            env={"PATH": f"{PLACES[0]}:/usr/bin:/bin", "LANG": "C.UTF-8", **self._environment},
            capture_output=True,
            text=True,
            timeout=COMMAND_WITHIN_S,
            check=False,
        )


def is_installed() -> bool:
    """Whether RabbitMQ can be started here."""
    return any(shutil.which("rabbitmq-server", path=str(Path(place))) for place in PLACES)


def find_program(name: str) -> str:
    """The path of one of RabbitMQ's or Erlang's programs; `LookupError` when it is not installed."""
    places = [str(Path(place)) for place in PLACES]
    found = next((path for place in places if (path := shutil.which(name, path=place))), None) or shutil.which(name)
    if found is None:
        raise LookupError(f"{name} is not installed")
    return found
