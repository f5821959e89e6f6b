"""The parts of a text in Liquid, cut in one pass: text, outputs and tags, as the language's own lexer names them.

That lexer looks for an end from each blank anew, in one call of `re` that lets no other thread run. The lexer of
expressions looks at the rest from each bracket: it gets short ones only.
"""

import re
from collections.abc import Iterator

from liquid import Token
from liquid.exceptions import LiquidSyntaxError
from liquid.token import TOKEN_CONTENT, TOKEN_EOF, TOKEN_EXPRESSION, TOKEN_OUTPUT, TOKEN_TAG

LONGEST_EXPRESSION = 500
"""Characters of an output, and of what follows a tag's name."""
MOST_PARTS = 1_000
"""Outputs and tags of a text: the tree of each costs some 20 µs to make, and as much to look through."""
_OPENING = re.compile(r"\{(?:\{-?|%-?\s*(#|\w*))")
"""What begins an output, or a tag with its name. No two matches share a blank."""
_COMMENT = re.compile(r"\{%-?\s*(end)?comment\b")
_RAW_END = re.compile(r"\{%-?\s*endraw\s*(?=-?%\})")


def parts(source: str) -> Iterator[Token]:
    """Text, outputs and tags in order; comments are left out, and raw text is text. Raises `LiquidSyntaxError`."""
    begin, trims, count = 0, False, 0
    while (opening := _OPENING.search(source, begin)) is not None:
        count += 1
        if count > MOST_PARTS:
            raise _wrong(source, opening, f"has more than {MOST_PARTS} outputs and tags")
        yield from _text(source, begin, opening.start(), trims=trims, is_trimmed=opening[0][2:3] == "-")
        name, end = opening[1], _end(source, opening)
        if name == "comment":
            end = _end_of_comment(source, opening, end)
        elif name == "raw":
            closing = _RAW_END.search(source, end)
            if closing is None:
                raise _unclosed(source, opening, "endraw")
            yield from _text(source, end, closing.start())
            end = _end(source, closing)
        else:
            yield from _code(source, opening, end)
        begin, trims = end, source[end - 3] == "-" and end - 3 >= opening.end()
    yield from _text(source, begin, len(source), trims=trims)


def _text(source: str, begin: int, end: int, *, trims: bool = False, is_trimmed: bool = False) -> Iterator[Token]:
    """A text as it is said, without the blanks that the dash of a neighbour takes off."""
    text = source[begin:end]
    text = text.lstrip() if trims else text
    text = text.rstrip() if is_trimmed else text
    if text:
        yield Token(TOKEN_CONTENT, text, begin, source)


def _code(source: str, opening: re.Match[str], end: int) -> Iterator[Token]:
    """An output or a tag, and the words inside."""
    inside = source[opening.end() : end - 2].removesuffix("-")
    words, begin = inside.strip(), end - 2 - len(inside.lstrip())
    if len(words) > LONGEST_EXPRESSION:
        raise _wrong(source, opening, f"has more than {LONGEST_EXPRESSION} characters between its braces")
    if opening[1] is None:
        yield Token(TOKEN_OUTPUT, "", opening.start(), source)
    elif opening[1]:
        yield Token(TOKEN_TAG, opening[1], opening.start(1), source)
    else:
        raise _wrong(source, opening, "missing tag name")
    if words or opening[1] is None:
        yield Token(TOKEN_EXPRESSION, words, begin, source)


def _end(source: str, opening: re.Match[str]) -> int:
    """Where the code ends that begins there."""
    closing = "%}" if opening[0].startswith("{%") else "}}"
    found = source.find(closing, opening.end())
    if found < 0:
        raise _unclosed(source, opening, closing)
    return found + 2


def _end_of_comment(source: str, opening: re.Match[str], begin: int) -> int:
    """Where the comment ends that begins there; there may be comments inside."""
    depth = 1
    while depth:
        inner = _COMMENT.search(source, begin)
        if inner is None:
            raise _unclosed(source, opening, "endcomment")
        depth += -1 if inner[1] else 1
        begin = _end(source, inner)
    return begin


def _unclosed(source: str, opening: re.Match[str], closing: str) -> LiquidSyntaxError:
    return _wrong(source, opening, f"expected {closing}, found the end of the text")


def _wrong(source: str, opening: re.Match[str], reason: str) -> LiquidSyntaxError:
    return LiquidSyntaxError(reason, token=Token(TOKEN_EOF, opening[0], opening.start(), source))
