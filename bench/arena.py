"""What a bench run has: servers of its own, the peers that were built, sizes, and the report that grows."""

import fnmatch
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from bench.contest import Contest
from bench.ours import Ours
from bench.peer import Kind, Peer
from bench.peer_environments import Environments
from bench.stores import Stores
from sandbox.servers.servers import run_servers


@dataclass(frozen=True)
class Sizes:
    """How much is done; the defaults are what the published figures are measured with."""

    jobs: int = 60_000
    rounds: int = 3
    heat_jobs: int = 10_000
    box_s: float = 20.0
    """A peer that has not emptied the backlog after so many seconds is rated by what it did in them."""
    samples: int = 500
    finished_rows: tuple[int, ...] = (10_000, 1_000_000, 10_000_000)
    scheduled_rows: int = 1_000_000
    accounts: int = 100_000
    memory_jobs: int = 200_000


@dataclass
class Arena:
    """One run."""

    folder: Path
    stores: Stores
    environments: Environments
    sizes: Sizes
    only: Sequence[str] = ()
    tell: Callable[[str], object] = print
    skipped: dict[str, str] = field(default_factory=dict)
    heats: dict[str, dict[str, float]] = field(default_factory=dict)
    """Jobs per second of every setting that was tried, by the heat or final in which it was."""
    minutes: dict[str, float] = field(default_factory=dict)
    """How long each stage took."""
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
        """Those that were built."""
        return (peer for kind in kinds if (peer := self.peer(kind)))

    def wants(self, name: str) -> bool:
        """Whether this contest was asked for."""
        return not self.only or any(fnmatch.fnmatch(name, pattern) for pattern in self.only)

    def dropped(self, stage: str, reasons: dict[str, str]) -> None:
        """Note who failed in a stage, and why."""
        self.skipped |= {f"{stage}: {name}": reason for name, reason in reasons.items()}


@dataclass(frozen=True)
class Stage:
    """Contests that are held together; `names` tells all that it can hold at some sizes."""

    title: str
    names: Callable[[Sizes], Iterable[str]]
    hold: Callable[[Arena], Iterable[Contest]]

    def wanted(self, arena: Arena) -> list[str]:
        """Those of its contests that were asked for."""
        return [name for name in self.names(arena.sizes) if arena.wants(name)]


@contextmanager
def open_arena(
    folder: Path, environments: Environments, sizes: Sizes, only: Sequence[str], tell: Callable[[str], object]
) -> Iterator[Arena]:
    """Start PostgreSQL, which syncs to disk, and Valkey."""
    with run_servers(folder / "servers", durable=True) as servers:
        stores = Stores(servers)
        stores.spread_checkpoints()
        yield Arena(folder, stores, environments, sizes, only, tell)
