"""No text of a stranger costs a parser more than a moment, whatever it says and however long it may be."""

import time

import pytest

from tests.attacks.hostile_texts import PARSERS, Parser

WITHIN_S = 0.2
"""Seconds of CPU for the usual text; a file or a mail that is longer may take so much for each part of that length."""


def cost(parser: Parser, text: str) -> float:
    """Seconds of this thread's CPU; a refusal is an answer."""
    began = time.thread_time()
    parser.try_on(text)
    return time.thread_time() - began


def bound(parser: Parser, text: str) -> float:
    return WITHIN_S * max(1.0, len(text) / parser.usual)


@pytest.mark.parametrize("name", PARSERS)
def test_a_text_made_to_cost_costs_little(name: str) -> None:
    parser, slow = PARSERS[name], {}
    for text in parser.texts():
        # What another process takes of the caches is no work of ours; a parser that keeps texts gets another one.
        tries = [cost(parser, text)]
        while min(tries) > bound(parser, text) and len(tries) < 4:
            tries.append(cost(parser, text[: -len(tries)]))
        if min(tries) > bound(parser, text):
            slow[text[:60]] = round(min(tries), 2)
    assert slow == {}


def test_a_quadratic_parser_is_seen() -> None:
    """The measure itself: a parser that looks at the rest from each character takes too long."""
    quadratic = Parser(lambda text: [text.count("b", place) for place in range(len(text))], 64 * 1024)
    assert any(cost(quadratic, text) > bound(quadratic, text) for text in quadratic.texts())
