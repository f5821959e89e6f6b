"""How the house's code looks: sizes, names, excepts, and the manners of its tests (docs: the-house.md)."""

import ast
import io
import re
import tokenize
from collections.abc import Callable, Iterator, Sequence
from statistics import median, quantiles

import pytest

from tests.house.reading import FunctionNode, Module, belongs, dotted, read_house

FILE_HARD, FUNCTION_HARD = 400, 50
FUNCTION_MEDIAN, FUNCTION_P90 = 10, 30
SAY_NOTHING = {"util", "utils", "helper", "helpers", "common", "base", "misc", "constants"}
MAY_CATCH_ALL = {"engine.worker.runner"}
ALL_THERE_IS = {"Exception", "BaseException"}
HISTORY = {"storage.migrations"}
"""Migrations are a record, never edited to fit a bound."""

WAIVER = re.compile(
    r"#\s*(?P<kind>noqa|type:\s*ignore)\b(?P<explained>(?::\s*[A-Z0-9, ]+|\[[a-z, -]+\])\s+(?:#|--?)\s*\w.*)?"
)

House = Sequence[Module]
Check = Callable[[Module], Iterator[str]]


@pytest.fixture(scope="module")
def house() -> House:
    return read_house()


def size(function: FunctionNode) -> int:
    return (function.end_lineno or function.lineno) - function.lineno + 1


def oversized(module: Module) -> Iterator[str]:
    if belongs(module.name, HISTORY):
        return
    lines = module.source.count("\n")
    if lines > FILE_HARD:
        yield f"{module.at(lines)} has {lines} lines, {FILE_HARD} at most: cut it by noun"
    for function in module.functions():
        if size(function) > FUNCTION_HARD:
            length = f"{size(function)} lines, {FUNCTION_HARD} at most"
            yield f"{module.at(function)} {function.name} has {length}: name its steps"


def empty_names(module: Module) -> Iterator[str]:
    if module.file_name in SAY_NOTHING:
        yield f"{module.at(1)}: the name says nothing; name what is in it, or move it to those who use it"


def broad_excepts(module: Module) -> Iterator[str]:
    if belongs(module.name, MAY_CATCH_ALL):
        return
    for node in module.nodes():
        if isinstance(node, ast.ExceptHandler) and catches_all(node.type):
            yield f"{module.at(node)} catches everything: name what you expect; only the runner may catch a bug"
        if isinstance(node, ast.Call) and dotted(node.func).endswith("suppress") and any(map(catches_all, node.args)):
            yield f"{module.at(node)} suppresses everything: name what you expect"


def catches_all(kind: ast.expr | None) -> bool:
    kinds = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    return any(one is None or dotted(one) in ALL_THERE_IS for one in kinds)


def sleeps_in_tests(module: Module) -> Iterator[str]:
    for node in module.nodes() if module.room == "tests" else ():
        if isinstance(node, ast.Call) and dotted(node.func).rpartition(".")[2] == "sleep" and not yields_only(node):
            yield f"{module.at(node)} sleeps: wait with tests.waiting.eventually, or let the loop signal"


def yields_only(call: ast.Call) -> bool:
    """`asyncio.sleep(0)` lets others run and waits for nothing."""
    return dotted(call.func) == "asyncio.sleep" and [ast.unparse(argument) for argument in call.args] == ["0"]


def patches_in_tests(module: Module) -> Iterator[str]:
    for node in module.nodes() if module.room == "tests" else ():
        if isinstance(node, ast.Call) and replaces_by_path(node):
            yield f"{module.at(node)} patches by string path: take the double as an argument"


def replaces_by_path(call: ast.Call) -> bool:
    name = dotted(call.func)
    first_is_text = bool(call.args) and isinstance(call.args[0], ast.Constant) and isinstance(call.args[0].value, str)
    return first_is_text and (name.rpartition(".")[2] == "patch" or name.endswith("monkeypatch.setattr"))


def unexplained_waivers(module: Module) -> Iterator[str]:
    if not WAIVER.search(module.source):
        return
    for token in tokenize.generate_tokens(io.StringIO(module.source).readline):
        found = WAIVER.search(token.string) if token.type == tokenize.COMMENT else None
        if found and not found["explained"]:
            place = module.at(token.start[0])
            yield f"{place} waives a rule: write `{found['kind']}` with its code, and `# the reason` after it"


CHECKS = (oversized, empty_names, broad_excepts, sleeps_in_tests, patches_in_tests, unexplained_waivers)


@pytest.mark.parametrize("check", CHECKS)
def test_the_house_keeps_its_style(house: House, check: Check) -> None:
    complaints = [complaint for module in house for complaint in check(module)]
    assert not complaints, "\n" + "\n".join(complaints)


def test_functions_are_short_on_the_whole(house: House) -> None:
    production = [module for module in house if module.room != "tests" and not belongs(module.name, HISTORY)]
    sizes = [size(function) for module in production for function in module.functions()]
    assert median(sizes) <= FUNCTION_MEDIAN
    assert quantiles(sizes, n=10)[-1] <= FUNCTION_P90


LONG_FUNCTION = "def f():\n" + "    a = 1\n" * FUNCTION_HARD


@pytest.mark.parametrize(
    ("check", "name", "source", "words"),
    [
        (oversized, "tasks.mail.gmail", "a = 1\n" * (FILE_HARD + 1), "401 lines"),
        (oversized, "tests.test_x", LONG_FUNCTION, "f has 51 lines"),
        (empty_names, "storage.utils", "", "the name says nothing"),
        (
            broad_excepts,
            "tasks.mail.gmail",
            "try:\n    f()\nexcept Exception:\n    g()",
            "tasks/mail/gmail.py:3 catches everything",
        ),
        (
            broad_excepts,
            "sandbox.demo",
            "try:\n    f()\nexcept (OSError, BaseException):\n    g()",
            "catches everything",
        ),
        (broad_excepts, "sandbox.demo", "try:\n    f()\nexcept:\n    g()", "catches everything"),
        (broad_excepts, "sandbox.demo", "with contextlib.suppress(Exception):\n    g()", "suppresses everything"),
        (sleeps_in_tests, "tests.test_x", "time.sleep(0)", "tests/test_x.py:1 sleeps"),
        (sleeps_in_tests, "tests.test_x", "async def f():\n    await asyncio.sleep(1)", "sleeps"),
        (patches_in_tests, "tests.test_x", "mocker.patch('engine.app.now')", "patches by string path"),
        (patches_in_tests, "tests.test_x", "@patch('engine.app.now')\ndef test(): ...", "patches by string path"),
        (patches_in_tests, "tests.test_x", "monkeypatch.setattr('engine.app.now', 1)", "patches by string path"),
        (unexplained_waivers, "engine.app", "a = 1  # noqa: S603", "engine/app.py:1 waives a rule"),
        (unexplained_waivers, "engine.app", "a = 1  # noqa  # because", "with its code"),
        (unexplained_waivers, "engine.app", "a = 1  # type: ignore[misc]", "with its code"),
    ],
)
def test_each_check_can_fail(check: Check, name: str, source: str, words: str) -> None:
    complaints = list(check(Module(name, source)))
    assert len(complaints) == 1
    assert words in complaints[0]


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("engine.worker.runner", "try:\n    f()\nexcept Exception:\n    g()"),
        ("tasks.mail.gmail", "time.sleep(1)"),
        ("tests.test_x", "asyncio.sleep(0)\nmonkeypatch.setenv('A', 'b')\nre.sub('a', 'b', c)"),
        ("engine.app", "a = 1  # noqa: S603, S607  # the arguments are constants\nb = '# noqa'"),
        ("engine.app", "a = 1  # type: ignore[misc]  # celery ships no types"),
        ("engine.app", "a = 1  # noqa: ANN401 - any setting's value"),
    ],
)
def test_what_is_allowed_passes(name: str, source: str) -> None:
    assert [complaint for check in CHECKS for complaint in check(Module(name, source))] == []
