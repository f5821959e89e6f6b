"""A handler has one caller, which has one caller, up to the task that Celery's tracer calls (read from the source)."""

import ast
from collections.abc import Iterable, Iterator

import pytest

from tests.house.reading import Module, read_house

WAY = {
    "handler": "engine.worker.runner",
    "run_attempt": "engine.worker.execution",
    "run_in_task": "engine.app",
}
"""Each attribute that is called on the way to a handler, and the one module that calls it."""

OTHER_HANDLERS = "sandbox"
"""Its emulators call handlers of HTTP routes."""


def callers(house: Iterable[Module], name: str) -> Iterator[str]:
    """The modules that call an attribute of that name, once for each call."""
    for module in house:
        for node in module.nodes() if name in module.source else ():
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == name:
                yield module.name


@pytest.mark.parametrize(("name", "caller"), WAY.items())
def test_ac_24_each_step_to_a_handler_has_one_caller(name: str, caller: str) -> None:
    house = [module for module in read_house() if module.room != OTHER_HANDLERS]
    assert list(callers(house, name)) == [caller]


def test_a_second_caller_would_be_seen() -> None:
    second = Module("tests.shortcut", "def run(job_type, ctx):\n    return job_type.handler(ctx, None)\n")
    assert list(callers([*read_house(), second], "handler"))[-1] == "tests.shortcut"
