"""The setup of a bench run: its servers, the peers that were built, the sizes, and what is noted for the report."""

import fnmatch
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from bench.contenders.ours import Ours
from bench.contenders.peer import Kind, Peer
from bench.contenders.peer_environments import Environments
from bench.contest import Contest
from bench.stores import Stores
from sandbox.servers.servers import run_servers


@dataclass(frozen=True)
class Sizes:
    """How much work each contest does; the published figures are measured with the defaults."""

    jobs: int = 60_000
    rounds: int = 3
    tuning_jobs: int = 10_000
    time_limit_s: float = 20.0
    """A contender that has not emptied the backlog after so many seconds is rated by what it did until then."""
    samples: int = 1_000
    finished_rows: tuple[int, ...] = (10_000, 1_000_000, 10_000_000)
    scheduled_rows: int = 1_000_000
    accounts: int = 100_000
    memory_jobs: int = 200_000
    messages: int = 2_000
    workflow_items: int = 10_000
    workflow_layers: int = 20
    workflow_chain: int = 1_000


@dataclass
class Setup:
    """The setup of one run."""

    folder: Path
    stores: Stores
    environments: Environments
    sizes: Sizes
    only: Sequence[str] = ()
    print_line: Callable[[str], object] = print
    skipped: dict[str, str] = field(default_factory=dict)
    tuning_rounds: dict[str, dict[str, float]] = field(default_factory=dict)
    """Jobs per second of every setting that was tried, by tuning round."""
    minutes: dict[str, float] = field(default_factory=dict)
    """How long each group of contests took."""
    best_settings: dict[str, str] = field(default_factory=dict)

    @cached_property
    def ours(self) -> Ours:
        """Postroom."""
        return Ours(self.stores)

    def peer(self, kind: Kind) -> Peer | None:
        """A peer, unless its environment could not be built."""
        python = self.environments.pythons.get(kind.name)
        return None if python is None else Peer(kind, python, self.stores)

    def peers(self, kinds: Iterable[Kind]) -> Iterator[Peer]:
        """The peers of these kinds that were built."""
        return (peer for kind in kinds if (peer := self.peer(kind)))

    def wants(self, name: str) -> bool:
        """Whether this contest was asked for."""
        return not self.only or any(fnmatch.fnmatch(name, pattern) for pattern in self.only)

    def note_dropped(self, group: str, reasons: dict[str, str]) -> None:
        """Note which contenders failed in a group of contests, and why."""
        self.skipped |= {f"{group}: {name}": reason for name, reason in reasons.items()}


@dataclass(frozen=True)
class ContestGroup:
    """Contests that run together; `names` lists all that the group can run at given sizes."""

    title: str
    names: Callable[[Sizes], Iterable[str]]
    run: Callable[[Setup], Iterable[Contest]]

    def wanted(self, setup: Setup) -> list[str]:
        """The contests of this group that were asked for."""
        return [name for name in self.names(setup.sizes) if setup.wants(name)]


@contextmanager
def open_setup(
    folder: Path, environments: Environments, sizes: Sizes, only: Sequence[str], print_line: Callable[[str], object]
) -> Iterator[Setup]:
    """Start PostgreSQL, which syncs to disk, and Valkey."""
    with run_servers(folder / "servers", durable=True) as servers:
        stores = Stores(servers)
        stores.spread_checkpoints()
        yield Setup(folder, stores, environments, sizes, only, print_line)
