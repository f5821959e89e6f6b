"""The house as data: every module of the repository, parsed once, for the tests of its rules."""

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOMS = (
    "domain",
    "storage",
    "observability",
    "providers",
    "engine",
    "operations",
    "tasks",
    "commands",
    "gateway",
    "sandbox",
    "bench",
    "clients",
    "tools",
    "examples",
    "tests",
)
SINGLE_FILES = ("settings", "celeryconfig", "beat_schedule")
ROOTS = {"postroom_client": "clients.python.postroom_client"}
"""Packages that are imported by a name of their own, and where they stand."""

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
FUNCTIONS, IMPORTS = (ast.FunctionDef, ast.AsyncFunctionDef), (ast.Import, ast.ImportFrom)
"""Tuples, which `isinstance` looks through in half the time of a union."""


@dataclass(frozen=True)
class Import:
    """One imported module, as far as the statement tells: `from domain import queues` is `domain.jobs.queues`."""

    line: int
    target: str


@dataclass(frozen=True)
class Module:
    """One source file under its dotted name."""

    name: str
    source: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.source, filename=self.name)

    @property
    def room(self) -> str:
        return self.name.partition(".")[0]

    @property
    def path(self) -> Path:
        """Where the file stands, from the repository's root."""
        return Path(self.name.replace(".", "/") + ".py")

    @property
    def file_name(self) -> str:
        return self.name.rpartition(".")[2]

    def at(self, node: ast.stmt | ast.expr | ast.excepthandler | Import | int) -> str:
        """Where a complaint points: `storage/jobs/ledger.py:12`."""
        line = node if isinstance(node, int) else node.line if isinstance(node, Import) else node.lineno
        return f"{self.name.replace('.', '/')}.py:{line}"

    def nodes(self) -> Sequence[ast.AST]:
        return self._nodes

    def functions(self) -> list[FunctionNode]:
        return [node for node in self._nodes if isinstance(node, FUNCTIONS)]

    def imports(self) -> Sequence[Import]:
        return self._imports

    @cached_property
    def _nodes(self) -> Sequence[ast.AST]:
        """Walked once: two dozen checks look at every node of the house."""
        return tuple(ast.walk(self.tree))

    @cached_property
    def _imports(self) -> Sequence[Import]:
        return tuple(chain.from_iterable(targets(node) for node in self._nodes if isinstance(node, IMPORTS)))


def targets(node: ast.Import | ast.ImportFrom) -> Iterator[Import]:
    """What one statement imports; a relative import (ruff forbids them) would be named with its dots."""
    if isinstance(node, ast.Import):
        yield from (Import(node.lineno, place_of(alias.name)) for alias in node.names)
    else:
        origin = "." * node.level + (node.module or "")
        yield from (Import(node.lineno, place_of(f"{origin}.{alias.name}")) for alias in node.names)


def place_of(name: str) -> str:
    """Where a module stands that is imported by this name."""
    first, dot, rest = name.partition(".")
    return f"{ROOTS.get(first, first)}{dot}{rest}"


@cache
def read_house() -> tuple[Module, ...]:
    """Every module of the repository, tests included; read and parsed once per process, for it takes seconds."""
    files = [path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))]
    files += [path for name in SINGLE_FILES if (path := ROOT / f"{name}.py").exists()]
    return tuple(Module(".".join(path.relative_to(ROOT).with_suffix("").parts), path.read_text()) for path in files)


def belongs(name: str, rooms: Iterable[str]) -> bool:
    """Whether a module stands in one of the rooms, each a dotted prefix; `demo*` also means what starts like it."""
    return any(name == room or name.startswith(room[:-1] if room.endswith("*") else f"{room}.") for room in rooms)


def dotted(node: ast.expr) -> str:
    """`a.b.c` of a chain of attributes, and the empty text for anything else in it."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=attribute):
            return f"{dotted(value)}.{attribute}"
        case _:
            return ""
