"""The interface of ours and of every peer: restore a backlog, run workers on it, say when all is settled."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from bench.measured_job import VARIABLE
from bench.run_folder import RunFolder
from sandbox.servers.child_process import ChildProcess, Command

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Setting:
    """One way to run workers: the arguments of each process after the interpreter, and environment variables."""

    label: str
    workers: tuple[tuple[str, ...], ...]
    ready: int
    """How many processes run jobs; each reports once that it is ready."""
    environment: Mapping[str, str] = field(default_factory=dict)


class Runnable(Protocol):
    """What has workers that can be run."""

    @property
    def name(self) -> str:
        """The contender's name in the results."""

    def environment(self) -> Mapping[str, str]:
        """Environment variables of its processes."""

    def interpreter(self) -> Path:
        """The Python of its processes."""


class Contender(Runnable, Protocol):
    """Ours, or a peer."""

    def restore(self, job: str, jobs: int) -> None:
        """Make the stores hold a fresh backlog of `jobs` jobs; 0 for empty stores."""

    def settled(self) -> bool:
        """Whether its own store says that every job is done; True where it has no such store."""

    def latency(self, run_folder: RunFolder, samples: int) -> None:
        """Enqueue `samples` jobs of the type `note`, with random gaps, while its workers are idle."""


@contextmanager
def running(contender: Runnable, setting: Setting, run_folder: RunFolder, log: Path) -> Iterator[list[ChildProcess]]:
    """Run a contender's workers for the length of the block."""
    environment = {**contender.environment(), **setting.environment, VARIABLE: str(run_folder.folder)}
    with ExitStack() as stack:
        children = []
        for words in setting.workers:
            command = Command([str(contender.interpreter()), *words], environment, ROOT)
            child = ChildProcess(command, log=log)
            child.start()
            stack.callback(child.stop, within=8.0)
            children.append(child)
        yield children


def processes(words: Sequence[str], count: int) -> tuple[tuple[str, ...], ...]:
    """The same command `count` times."""
    return (tuple(words),) * count
