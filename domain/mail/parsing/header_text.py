"""The value of a structured header without what means nothing in it (RFC 5322, 3.2); nothing here raises."""

import re

_PIECE = re.compile(r'"((?:[^"\\]|\\.)*+)"|\\(.)|([^"\\()]++)|.', re.DOTALL)
_MARKS = re.compile(r'["\\()]')
_QUOTED_PAIR = re.compile(r'\\(["\\])')


def bare_text(value: str) -> str:
    """The value without comments, which may nest, and without quotes around its words.

    Where a comment is not closed, nobody can tell what is one: then every word stays.
    """
    kept: list[str] = []
    depth = 0
    for piece in _PIECE.finditer(value):
        if piece[0] == "(":
            depth += 1
            kept.append(" ")
        elif piece[0] == ")":
            depth = max(0, depth - 1)
        elif not depth:
            kept.append(unescape_pairs(piece[1] or piece[2] or piece[3] or ""))
    return (_MARKS.sub(" ", value) if depth else "".join(kept)).strip()


def unescape_pairs(quoted: str) -> str:
    """The content of a quoted string: a backslash before a quote or another backslash goes, as mailers read it."""
    return _QUOTED_PAIR.sub(r"\1", quoted)
