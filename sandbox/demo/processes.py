"""The processes of the local stack beside its two servers: command lines, and checks that they are ready."""

import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from sandbox.demo.addresses import Addresses, port_of
from sandbox.servers.child_process import ChildProcess, Command
from sandbox.servers.free_port import LOOPBACK, find_free_port

ROOT = Path(__file__).resolve().parents[2]
HTTP_TIMEOUT_S = 2.0

IsReady = Callable[["Member"], bool]


@dataclass(frozen=True)
class Worker:
    """One worker command: its node's name, the queues it takes, its pool and how many jobs at once."""

    name: str
    queues: tuple[str, ...]
    pool: str
    concurrency: int


WORKERS = (
    Worker("critical", ("critical",), "threads", 4),
    Worker("default", ("default",), "threads", 8),
    Worker("notifications", ("notifications", "planning", "exports"), "threads", 2),
    Worker("maintenance", ("maintenance", "deadletter"), "prefork", 2),
)
"""One worker per group of queues; both pools are used."""


class Died(Exception):
    """A process of the local stack ended by itself."""


class Member:
    """A process of the local stack with its log, and a check that it is ready."""

    def __init__(self, name: str, process: ChildProcess, is_ready: IsReady) -> None:
        """Nothing runs before `process.start()`."""
        self.name = name
        self.process = process
        self._is_ready = is_ready

    def ready(self) -> bool:
        """Whether it is ready; raises `Died` when it has ended."""
        self.check()
        return self._is_ready(self)

    def check(self) -> None:
        """Raise `Died` when it has ended."""
        if not self.process.running:
            status, log = self.process.exit_status, self.process.log
            raise Died(f"{self.name} ended by itself with status {status}; its log is {log}")


def emulators(addresses: Addresses, folder: Path) -> list[Member]:
    """Gmail (with Google's tokens, certificates and Pub/Sub), Anthropic, Discord, Resend, Graph, Twilio, FCM, S3."""
    make = _Maker(folder, {})
    modules = {
        "gmail": "sandbox.google.gmail",
        "anthropic": "sandbox.anthropic.anthropic",
        "discord": "sandbox.discord.discord",
        "resend": "sandbox.resend.resend",
        "microsoft": "sandbox.microsoft.microsoft",
        "twilio": "sandbox.twilio.twilio",
        "fcm": "sandbox.fcm.fcm",
        "s3": "sandbox.s3.s3",
    }
    urls = {name: str(getattr(addresses, name)) for name in modules}
    return [
        make(name, [module, "--port", port_of(urls[name])], answers(f"{urls[name]}/_control/faults"))
        for name, module in modules.items()
    ]


def gateway_and_flower(addresses: Addresses, folder: Path) -> list[Member]:
    """Gateway and Flower, which can start before the database is migrated."""
    make = _Maker(folder, addresses.environment())
    return [
        make("gateway", _gateway(addresses), answers(f"{addresses.gateway}/readyz")),
        make("flower", _flower(addresses), answers(f"{addresses.flower}/")),
    ]


def workers(addresses: Addresses, folder: Path) -> list[Member]:
    """Workers for every queue, and beat, as an operator would start them."""
    make = _Maker(folder, addresses.environment())
    # One worker counts what the console's charts show: whichever has a port for its metrics.
    counts = _Maker(folder, addresses.environment() | {"POSTROOM_METRICS_PORT": str(find_free_port())})
    return [
        *(
            (counts if worker == WORKERS[0] else make)(
                f"worker-{worker.name}", worker_arguments(worker), says(f"{worker.name}@local ready")
            )
            for worker in WORKERS
        ),
        make("beat", ["celery", "-A", "tasks", "beat"], says("beat: Starting")),
    ]


def worker_arguments(worker: Worker) -> list[str]:
    """`celery -A tasks worker -Q …` after `python -m`."""
    command = ["celery", "-A", "tasks", "worker", "-Q", ",".join(worker.queues), "-n", f"{worker.name}@local"]
    # Mingling asks the other workers for revoked tasks, which we do not use, and takes a second of every start.
    return [*command, "-P", worker.pool, "-c", str(worker.concurrency), "--without-mingle", "--loglevel=INFO"]


def answers(url: str) -> IsReady:
    """Ready when this address answers with a good status."""
    return lambda _member: get_status(url) == 200  # noqa: PLR2004  # an HTTP status


def says(words: str) -> IsReady:
    """Ready when its log contains these words."""
    return lambda member: words in member.process.read_log()


def get_status(url: str) -> int | None:
    """The status that an address answers with; None when there is no answer."""
    try:
        with urllib.request.urlopen(url, timeout=HTTP_TIMEOUT_S) as response:  # noqa: S310  # an address of the local stack
            return int(response.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code
    except OSError:
        return None


def _gateway(addresses: Addresses) -> list[str]:
    return ["gateway", "--host", LOOPBACK, "--port", port_of(addresses.gateway)]


def _flower(addresses: Addresses) -> list[str]:
    return ["celery", "-A", "tasks", "flower", f"--address={LOOPBACK}", f"--port={port_of(addresses.flower)}"]


@dataclass(frozen=True)
class _Maker:
    folder: Path
    environment: Mapping[str, str]

    def __call__(self, name: str, arguments: list[str], is_ready: IsReady) -> Member:
        command = Command([sys.executable, "-m", *arguments], self.environment, ROOT)
        return Member(name, ChildProcess(command, log=self.folder / f"{name}.log"), is_ready)
