"""Every effect that is not simply repeated says how its provider is asked when its job has ended in doubt."""

import ast
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

import tasks
from engine.catalogue import catalogue

BEGINNINGS = {"effect": 0, "keyed_effect": 0, "effect_with_request": 0, "begin_effect": 1}
"""The methods of a job's context that begin an effect, and the place of its key."""


def words_of(source: str, module: ModuleType) -> Iterator[str]:
    """The first word of the key of each effect that a module's source begins and that is not idempotent."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        place = BEGINNINGS.get(node.func.attr)
        if place is None or "Strategy.IDEMPOTENT" in ast.unparse(node):
            continue
        yield first_word(node.args[place], module)


def first_word(key: ast.expr, module: ModuleType) -> str:
    """The text before the first colon, of a literal, of a constant, or of what a function of the fleet returns."""
    match key:
        case ast.Constant(value=str(text)):
            return text.partition(":")[0]
        case ast.JoinedStr(values=[ast.FormattedValue(value=value), *_]):
            return str(value_of(value, module))
        case ast.JoinedStr(values=[first, *_]):
            return first_word(first, module)
        case ast.Call(func=func):
            made = value_of(func, module)
            assert isinstance(made, FunctionType), ast.unparse(key)
            home = importlib.import_module(made.__module__)
            (returned,) = (
                node.value for node in ast.walk(ast.parse(inspect.getsource(made))) if isinstance(node, ast.Return)
            )
            assert returned is not None
            return first_word(returned, home)
    raise AssertionError(f"{module.__name__}: nobody can read the key {ast.unparse(key)}")


def value_of(name: ast.expr, module: ModuleType) -> Any:  # noqa: ANN401 - whatever the module names so
    match name:
        case ast.Name(id=word):
            return getattr(module, word)
        case ast.Attribute(value=inner, attr=word):
            return getattr(value_of(inner, module), word)
    raise AssertionError(f"{module.__name__}: {ast.unparse(name)} is no name")


def modules() -> list[ModuleType]:
    return [importlib.import_module(one.name) for one in pkgutil.walk_packages(tasks.__path__, "tasks.")]


def test_every_effect_that_may_end_in_doubt_can_be_asked_about() -> None:
    begun = {word for module in modules() for word in words_of(inspect.getsource(module), module)}
    declared = {word for known in catalogue for word in known.finds}
    assert begun >= {"draft", "rework", "outbound.send", "outbound.draft", "approval"}
    assert begun == declared


def test_an_effect_without_a_finder_is_seen() -> None:
    source = """
ctx.effect(f"mail:{order_id}", call, strategy=Strategy.AT_MOST_ONCE)
self._ctx.begin_effect(tx, send_key(order_id))
ctx.keyed_effect("text", body, call)
ctx.effect_with_request("post", where, call, find)
ctx.effect(f"label:{name}", call, strategy=Strategy.IDEMPOTENT)
"""
    home = importlib.import_module("tasks.notifications.senders.email_sending")
    assert list(words_of(source, home)) == ["mail", "email-send", "text", "post"]
