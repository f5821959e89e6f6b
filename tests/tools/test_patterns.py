"""Every regular expression of ours takes steps in proportion to the text, whoever wrote the text."""

import ast
import importlib
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from tests.house.reading import Module, read_house
from tests.tools.backtracking import Counted, TooManySteps, hard_texts

SEARCHING = {"search", "finditer", "findall", "sub", "subn", "split"}
SEARCHED = re.compile(rf"(?:{'|'.join(sorted(SEARCHING))})\(")
NAME = re.compile(r"(\w+)\.$")
LONGEST_NAME = 60
PROGRAMS = {"tests", "bench", "sandbox", "tools"}
FEWEST = 200
"""Patterns of ours; fewer were found by mistake."""
SHORT, LONG = 120, 480
MOST_GROWTH = 10.0
"""Four times the text takes four times the steps; where a pattern is tried from each letter to the end, sixteen."""

BOUNDED = {
    "storage.postgres.functions._DEFINITION": "reads our own files",
    "domain.workflows.references._QUOTED": "an expression has at most 1,000 characters",
}
"""Patterns whose steps grow by more, and why no text is long."""


class Used(NamedTuple):
    name: str
    pattern: str
    flags: int
    searches: bool


def patterns() -> Iterator[Used]:
    """Every pattern that a module keeps under a name or writes into a call, and whether it is looked for anywhere."""
    house = [module for module in read_house() if module.room not in PROGRAMS]
    everywhere = {name for module in house for name in searched_with(module.source)}
    for module in house:
        if "import re\n" not in module.source:
            continue
        inside = searched_with(module.source)
        for name, value in kept(module):
            text = value.pattern.decode("latin-1") if isinstance(value.pattern, bytes) else value.pattern
            searches = name in (inside if name.startswith("_") else everywhere)
            yield Used(f"{module.name}.{name}", text, value.flags & ~re.UNICODE, searches)
        for call in module.nodes():
            match call:
                case ast.Call(
                    func=ast.Attribute(value=ast.Name(id="re"), attr=way), args=[ast.Constant(value=str() as text), *_]
                ) if way != "compile":
                    yield Used(f"{module.name}:{call.lineno}", text, 0, way in SEARCHING)


def searched_with(source: str) -> set[str]:
    """The names that a search is asked of."""
    calls = [found.start() for found in SEARCHED.finditer(source)]
    return {found[1] for at in calls if (found := NAME.search(source[max(0, at - LONGEST_NAME) : at]))}


def kept(module: Module) -> Iterator[tuple[str, re.Pattern[Any]]]:
    if "re.compile(" not in module.source:
        return
    loaded = importlib.import_module(module.name.removesuffix(".__init__"))
    for statement in module.tree.body:
        if isinstance(statement, ast.Assign | ast.AnnAssign):
            for target in ast.walk(statement):
                if isinstance(target, ast.Name) and isinstance(target.ctx, ast.Store):
                    value = getattr(loaded, target.id, None)
                    if isinstance(value, re.Pattern):
                        yield target.id, value


def growth(pattern: str, flags: int = 0, *, searches: bool = True) -> float:
    """By how much the steps grow at the worst when a text becomes four times as long.

    A text that looks bad is made longer still: a pattern of bounded repeats looks at so many letters from each place.
    """
    counted = Counted(pattern, flags)

    def grows(text: Callable[[int], str], length: int) -> float:
        many = counted.count(text(4 * length), searches=searches)
        if many <= MOST_GROWTH * length:
            return many / length  # the growth, or more: the shorter text need not be counted
        return many / max(counted.count(text(length), searches=searches), length)

    try:
        found = [(grows(text, SHORT), text) for text in hard_texts(counted)]
        return max(min(grown, grows(text, LONG)) if grown > MOST_GROWTH else grown for grown, text in found)
    except TooManySteps:
        return float("inf")


def test_steps_grow_with_the_text_alone() -> None:
    tried = [used for used in patterns() if used.name not in BOUNDED]
    assert len(tried) > FEWEST
    slow = [used for used in tried if growth(used.pattern, used.flags, searches=used.searches) > MOST_GROWTH]
    assert slow == []


@pytest.mark.parametrize(
    "pattern",
    [
        "-----BEGIN [A-Z ]*PRIVATE KEY[A-Z ]*-----",
        r"(?<![A-Za-z0-9_])eyJ[A-Za-z0-9_-]{8,}\.",
        "(a+)+$",
        r"\s+$",
        r"<[^>]*>",
        r"(?:a|aa)+b",
        r"[^\s@]+@[^\s@]+",
    ],
)
def test_a_pattern_that_can_be_held_is_found(pattern: str) -> None:
    assert growth(pattern) > MOST_GROWTH


@pytest.mark.parametrize("pattern", ["[a-z]{1,20}@", r"<[^<>]*>", r"\d+", r"(?:a|b)+", r"x[^x]*+y", "^[a-z]+$"])
def test_an_ordinary_pattern_passes(pattern: str) -> None:
    assert growth(pattern) <= MOST_GROWTH
