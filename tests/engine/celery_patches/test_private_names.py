"""Private names of Celery, kombu and billiard: used in `engine/celery_patches` only, known to the pinned releases."""

import ast
import inspect
import re
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.metadata import version
from types import ModuleType

import pytest
from celery.apps.worker import Worker

from engine.celery_patches import PINNED
from tests.house.reading import ROOT, Module, read_house

PATCHES = "engine.celery_patches."
LIBRARIES = ("celery", "kombu", "billiard")
NOT_THEIRS = frozenset({"_asdict", "_current_frames", "_exit", "_fields", "_make", "_replace"})
"""Public names of Python's own that begin with an underscore: of named tuples, of `os` and of `sys`."""


def is_private(name: str) -> bool:
    """Whether a name begins with one underscore."""
    return name.startswith("_") and not name.startswith("__")


def own_names(module: Module) -> set[str]:
    """The private names that a module gives to something of its own."""
    names: set[str] = set()
    for node in module.nodes():
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {one.attr if isinstance(one, ast.Attribute) else one.id for one in flat(targets)}
    return names


def flat(targets: Sequence[ast.expr]) -> Iterator[ast.Attribute | ast.Name]:
    """The names and attributes that an assignment sets."""
    for target in targets:
        if isinstance(target, ast.Tuple):
            yield from flat(target.elts)
        elif isinstance(target, ast.Attribute | ast.Name):
            yield target


def foreign_names(module: Module) -> Iterator[str]:
    """The private names that a module uses and does not define: attributes, and what it imports from a library."""
    own = own_names(module) | NOT_THEIRS
    for node in module.nodes():
        if isinstance(node, ast.Attribute) and is_private(node.attr) and node.attr not in own:
            yield node.attr
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in LIBRARIES:
            parts = [*(node.module or "").split("."), *(alias.name for alias in node.names)]
            yield from (part for part in parts if is_private(part))


def imports_a_library(module: Module) -> bool:
    named = any(name in module.source for name in LIBRARIES)  # parsing every module takes seconds
    return named and any(one.target.partition(".")[0] in LIBRARIES for one in module.imports())


def patches() -> list[ModuleType]:
    """The modules of the patches."""
    return [import_module(one.name) for one in read_house() if one.name.startswith(PATCHES)]


def test_the_pinned_releases_are_those_that_the_patches_know() -> None:
    lock = (ROOT / "requirements.lock").read_text()
    locked = {name: re.findall(rf"^{name}==(\S+)", lock, flags=re.MULTILINE) for name in LIBRARIES}
    assert locked == {name: [known] for name, known in PINNED.items()}
    assert {name: version(name) for name in LIBRARIES} == PINNED


@pytest.mark.parametrize("used", sorted({name for patch in patches() for name in getattr(patch, "PRIVATE", ())}))
def test_each_private_name_exists(used: str) -> None:
    where, _, path = used.partition(":")
    *classes, name = path.split(".")
    owner = import_module(where)
    for one in classes:
        owner = getattr(owner, one)
    set_by_itself = rf"\b\w+\.{name}\b(?:, [\w.]+)* = "
    assert hasattr(owner, name) or re.search(set_by_itself, inspect.getsource(inspect.getmodule(owner) or owner))


PATCH_FILES = [one for one in read_house() if one.name.startswith(PATCHES)]
USERS = [
    one
    for one in read_house()
    if one.room not in {"tests", "bench"} and not one.name.startswith(PATCHES) and imports_a_library(one)
]
"""The production modules that import one of the libraries."""


@pytest.mark.parametrize("patch", PATCH_FILES, ids=lambda one: one.name)
def test_a_patch_lists_what_it_uses(patch: Module) -> None:
    listed = {name.rpartition(".")[2].rpartition(":")[2] for name in getattr(import_module(patch.name), "PRIVATE", ())}
    used = set(foreign_names(patch)) - {"_state"}
    assert used <= listed, "name it in PRIVATE"


@pytest.mark.parametrize("module", USERS, ids=lambda one: one.name)
def test_no_private_name_is_used_elsewhere(module: Module) -> None:
    assert list(foreign_names(module)) == []


@pytest.mark.parametrize("module", USERS, ids=lambda one: one.name)
def test_no_private_name_is_overridden_elsewhere(module: Module) -> None:
    for made in vars(import_module(module.name)).values():
        if isinstance(made, type) and made.__module__ == module.name:
            assert list(overridden(made)) == []


def overridden(made: type) -> Iterator[str]:
    """The private functions of a library's class that a class replaces by its own."""
    theirs = [base for base in made.__mro__ if base.__module__.partition(".")[0] in LIBRARIES]
    ours = [name for name, value in vars(made).items() if is_private(name) and inspect.isfunction(value)]
    yield from (name for name in ours if any(name in vars(base) for base in theirs))


def test_an_overridden_name_would_be_seen() -> None:
    class Hasty(Worker):  # type: ignore[misc] # Celery ships no types
        def _shutdown(self, warm: bool = True) -> None:  # noqa: FBT002 - Celery's signature
            """Leave at once."""

    assert list(overridden(Hasty)) == ["_shutdown"]


OWN = "from celery import Celery\nclass A(Celery):\n    def f(self):\n        self._a = 1\n        return self._a"


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("from celery._state import _task_stack", ["_state", "_task_stack"]),
        ("from kombu import Connection\ndef f(c):\n    return c._transport", ["_transport"]),
        (OWN, []),
    ],
)
def test_a_private_name_would_be_seen(source: str, found: list[str]) -> None:
    assert list(foreign_names(Module("engine.example", source))) == found
