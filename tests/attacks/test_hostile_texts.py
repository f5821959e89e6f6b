"""No text of a stranger costs a parser more than a moment, whatever it says and however long it may be."""

import time
from collections.abc import Callable
from functools import partial

import pytest

from tests.attacks.hostile_texts import PARSERS, Parser

WITHIN_S = 0.2
"""Seconds of CPU for the usual text; a file or a mail that is longer may take so much for each part of that length."""
COUNTED = 10_000_000
"""As far as Python counts in that time: on a slower or a crowded machine both take longer."""


def cpu(run: Callable[[], object]) -> float:
    """Seconds of this thread's CPU."""
    began = time.thread_time()
    run()
    return time.thread_time() - began


def count_far() -> None:
    for _ in range(COUNTED):
        pass


def costs_little(parser: Parser, text: str) -> bool:
    """Whether a text is read within its bound at one of four tries; a refusal is an answer."""
    parts = max(1.0, len(text) / parser.usual)
    if cpu(partial(parser.try_on, text)) <= WITHIN_S * parts:
        return True
    # What another process takes of the caches is no work of ours; a parser that keeps texts gets another one.
    return any(cpu(partial(parser.try_on, text[:-end])) <= max(WITHIN_S, cpu(count_far)) * parts for end in (1, 2, 3))


CROWDED = {"page"}
"""Parsers whose worst text takes three quarters of the bound on an idle machine: no other test runs beside them."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.quiet] if name in CROWDED else []) for name in PARSERS]
)
def test_a_text_made_to_cost_costs_little(name: str) -> None:
    parser = PARSERS[name]
    assert [text[:60] for text in parser.texts() if not costs_little(parser, text)] == []


def test_a_quadratic_parser_is_seen() -> None:
    """The measure itself: a parser that looks at the rest from each character takes too long."""
    quadratic = Parser(lambda text: [text.count("b", place) for place in range(len(text))], 64 * 1024)
    assert not all(costs_little(quadratic, text) for text in quadratic.texts())
