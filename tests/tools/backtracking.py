"""Counts the letters at which Python's engine of regular expressions looks: it tries one way after the other."""

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial, reduce
from itertools import combinations, pairwise, product
from typing import Any

parser: Any = vars(re)["_parser"]
"""The engine's own parser, which has no types; the names of what it reads are beside it."""
code = parser

Node = tuple[Any, Any]
Next = Callable[[int], bool]
Match = Callable[[int, Next], bool]
"""Matches from a place on; what follows is asked with the place after it."""

MOST_STEPS = 250_000
MOST_TEXTS = 24
SINGLE = {code.LITERAL, code.NOT_LITERAL, code.ANY, code.IN}
REPEATS = {code.MAX_REPEAT, code.MIN_REPEAT, code.POSSESSIVE_REPEAT}
LETTERS = [chr(n) for n in range(32, 127)] + list("\n\t\r\0é")

MOST_CALLS = 20_000


@contextmanager
def deep_calls() -> Iterator[None]:
    """Each step is a call inside the one before; other tests count on Python's own limit."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, MOST_CALLS))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


class TooManySteps(Exception):
    """The count has gone far beyond what is allowed."""


class Counted:
    """A pattern that counts its steps."""

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self.pattern = pattern
        self.nodes: Sequence[Node] = parser.parse(pattern, flags)
        self.flags = self.nodes.state.flags
        self.steps, self.text = 0, ""
        self._match = self._sequence(self.nodes)

    @deep_calls()
    def count(self, text: str, *, searches: bool) -> int:
        """The steps of one search, or of one match at the beginning; a search goes on behind what it found."""
        self.steps, self.text = 0, text
        place, end = 0, [0]

        def found(at: int) -> bool:
            end[0] = at
            return True

        while place <= len(text):
            place = max(end[0], place + 1) if self._match(place, found) else place + 1
            if not searches:
                break
        return self.steps

    def _step(self) -> None:
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise TooManySteps

    def _sequence(self, nodes: Sequence[Node]) -> Match:
        parts = [self._node(node) for node in nodes]
        return reduce(_after, reversed(parts)) if parts else lambda place, then: then(place)

    def _node(self, node: Node) -> Match:  # noqa: PLR0911 - one for each kind
        kind, value = node
        if kind in SINGLE:
            fits = self._fits(node)
            return lambda place, then: fits(place) and then(place + 1)
        if kind is code.SUBPATTERN:
            return self._sequence(value[3])
        if kind is code.ATOMIC_GROUP:
            return self._atomic(self._sequence(value))
        if kind is code.BRANCH:
            ways = [self._sequence(way) for way in value[1]]
            return lambda place, then: any(way(place, then) for way in ways)
        if kind in REPEATS:
            return self._repeat(kind, value)
        if kind is code.AT:
            return lambda place, then: self._stands(value, place) and then(place)
        if kind in {code.ASSERT, code.ASSERT_NOT}:
            return self._look(value, wanted=kind is code.ASSERT)
        raise TypeError(f"{kind}: a pattern of ours has this for the first time")

    def _look(self, value: tuple[int, Any], *, wanted: bool) -> Match:
        direction, inside = value
        look = self._sequence(inside)
        width = inside.getwidth()[0] if direction < 0 else 0
        return lambda place, then: (place >= width and look(place - width, lambda _: True)) is wanted and then(place)

    def _atomic(self, inside: Match) -> Match:
        def match(place: int, then: Next) -> bool:
            ends: list[int] = []

            def end(after: int) -> bool:
                ends.append(after)
                return True

            return inside(place, end) and then(ends[0])

        return match

    def _repeat(self, kind: Any, value: tuple[int, Any, Any]) -> Match:  # noqa: ANN401 - the parser's own
        least, most, inside = value
        one = self._sequence(inside)
        lazy = kind is code.MIN_REPEAT

        def run(count: int, place: int, then: Next) -> bool:
            def again(after: int) -> bool:
                return (after > place or count < least) and run(count + 1, after, then)

            if count < least:
                return one(place, again)
            if lazy:
                return then(place) or (count < most and one(place, again))
            return (count < most and one(place, again)) or then(place)

        greedy: Match = lambda place, then: run(0, place, then)  # noqa: E731 - one of three ways
        if len(inside) == 1 and inside[0][0] in SINGLE and not lazy:
            greedy = self._run_of(self._fits(inside[0]), least, most)
        return self._atomic(greedy) if kind is code.POSSESSIVE_REPEAT else greedy

    @staticmethod
    def _run_of(fits: Callable[[int], bool], least: int, most: int) -> Match:
        def match(place: int, then: Next) -> bool:
            end = place
            while end - place < most and fits(end):
                end += 1
            return any(then(after) for after in range(end, place + least - 1, -1))

        return match

    def _fits(self, node: Node) -> Callable[[int], bool]:
        fits = fitting(node, self.flags)

        def look(place: int) -> bool:
            self.steps += 1  # as `_step` does, without a call: a run looks some ten million times
            if self.steps > MOST_STEPS:
                raise TooManySteps
            return place < len(self.text) and self.text[place] in fits

        return look

    def _stands(self, at: Any, place: int) -> bool:  # noqa: ANN401 - the parser's own
        self._step()
        text, lines = self.text, bool(self.flags & re.MULTILINE)
        before, after = text[place - 1 : place], text[place : place + 1]
        if at in {code.AT_BEGINNING, code.AT_BEGINNING_STRING}:
            return place == 0 or (lines and at is code.AT_BEGINNING and before == "\n")
        if at in {code.AT_END, code.AT_END_STRING}:
            return not after or (at is code.AT_END and (lines or place == len(text) - 1) and after == "\n")
        word = bool(re.match(r"\w", before)) is not bool(re.match(r"\w", after))
        return word is (at is code.AT_BOUNDARY)


def _after(rest: Match, first: Match) -> Match:
    return lambda place, then: first(place, lambda after: rest(after, then))


def fitting(node: Node, flags: int) -> frozenset[str]:
    """The letters among ours that a node for one letter takes."""
    kind, value = node
    if kind is code.ANY:
        return frozenset(LETTERS) - (frozenset() if flags & re.DOTALL else {"\n"})
    items = value if kind is code.IN else [(code.LITERAL, value)]
    negated = kind is code.NOT_LITERAL or (kind is code.IN and items[0][0] is code.NEGATE)
    own = [chr(item[1]) for item in items if item[0] is code.LITERAL]
    taken = {letter for letter in {*LETTERS, *own} if any(_is(letter, item, flags) for item in items)}
    return frozenset({*LETTERS, *own} - taken if negated else taken)


def _is(letter: str, item: Node, flags: int) -> bool:
    kind, value = item
    forms = {letter, letter.lower(), letter.upper()} if flags & re.IGNORECASE else {letter}
    if kind is code.LITERAL:
        return chr(value) in forms
    if kind is code.RANGE:
        return any(value[0] <= ord(form) <= value[1] for form in forms if len(form) == 1)
    if kind is code.CATEGORY:
        return re.match(CATEGORIES[value], letter) is not None
    return False


CATEGORIES = {
    code.CATEGORY_DIGIT: r"\d", code.CATEGORY_NOT_DIGIT: r"\D", code.CATEGORY_SPACE: r"\s",
    code.CATEGORY_NOT_SPACE: r"\S", code.CATEGORY_WORD: r"\w", code.CATEGORY_NOT_WORD: r"\W",
}  # fmt: skip


def examples(nodes: Sequence[Node], flags: int) -> list[list[str]]:
    """Texts that fit a pattern, each in the pieces of which it is made: of a branch one for each way."""
    found: list[list[str]] = [[]]
    was_letter = False
    for kind, value in nodes:
        inner = examples_of(kind, value, flags)
        if not inner:
            continue
        if kind is code.LITERAL and was_letter:
            found = [[*before[:-1], before[-1] + inner[0][0]] for before in found]
        else:
            found = [[*before, *one] for before, one in product(found, inner)][:4]
        was_letter = kind is code.LITERAL
    return found


def examples_of(kind: Any, value: Any, flags: int) -> list[list[str]]:  # noqa: ANN401 - the parser's own
    """Texts that fit one node; none for a node that takes no letters."""
    if kind in SINGLE:
        taken = sorted(fitting((kind, value), flags))
        return [[next((one for one in taken if one.isalnum()), taken[0] if taken else "a")]]
    if kind is code.SUBPATTERN:
        return examples(value[3], flags)
    if kind is code.ATOMIC_GROUP:
        return examples(value, flags)
    if kind is code.BRANCH:
        return [one for way in value[1] for one in examples(way, flags)]
    if kind in REPEATS:
        more = min(value[0], 20) - 1
        return [[*one, "".join(one) * more] if more > 0 else one for one in examples(value[2], flags)]
    return []


def hard_texts(counted: Counted) -> Iterator[Callable[[int], str]]:
    """Texts of any length: what fits up to a place, then a part of it again and again, then an odd end.

    A mark between the parts lets a pattern that looks at the letter before begin with each of them.
    """
    mark = "-" if "(?<" in counted.pattern or r"\b" in counted.pattern else ""
    texts: dict[tuple[str, str], None] = {}
    for pieces in examples(counted.nodes, counted.flags):
        words = merged([piece for piece in pieces if piece])
        places = list(range(len(words) + 1))
        for start, end in [*pairwise(places), *combinations(places, 2)][:MOST_TEXTS]:
            texts["".join(words[:start]), "".join(words[start:end]) + mark] = None
    return (partial(_pumped, head, part) for head, part in texts)


def _pumped(head: str, part: str, length: int) -> str:
    return head + part * (length // len(part)) + "\0"


def merged(pieces: Sequence[str]) -> list[str]:
    """Pieces that follow one another as words of at most eight, so that there are few places between them."""
    size = max(1, len(pieces) // 8)
    return ["".join(pieces[n : n + size]) for n in range(0, len(pieces), size)]
