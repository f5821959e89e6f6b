"""What the contests ask of ours and of every peer: restore a backlog, run workers on it, tell when all is settled."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from bench.course import Course
from bench.tick import VARIABLE
from sandbox.servers.child_process import ChildProcess, Command

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Setting:
    """One way to run workers: each process's words after the interpreter, and what is in its environment."""

    label: str
    workers: tuple[tuple[str, ...], ...]
    ready: int
    """Processes that run jobs, each of which reports once."""
    environment: Mapping[str, str] = field(default_factory=dict)


class Contender(Protocol):
    """Ours, or a peer."""

    @property
    def name(self) -> str:
        """Its name in the results."""

    def restore(self, job: str, jobs: int) -> None:
        """Make the stores hold an untouched backlog of so many jobs, none to begin with nothing."""

    def environment(self) -> Mapping[str, str]:
        """What its processes read."""

    def interpreter(self) -> Path:
        """The Python of its processes."""

    def settled(self) -> bool:
        """Whether its own store says that every job is done."""

    def latency(self, course: Course, samples: int) -> None:
        """Enqueue so many `note` jobs with random gaps while its workers idle."""


@contextmanager
def running(contender: Contender, setting: Setting, course: Course, log: Path) -> Iterator[list[ChildProcess]]:
    """Run a contender's workers for as long as they are needed."""
    environment = {**contender.environment(), **setting.environment, VARIABLE: str(course.folder)}
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
    """The same command several times."""
    return (tuple(words),) * count
