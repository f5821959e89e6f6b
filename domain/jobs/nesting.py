"""How deep a JSON value may be: a deeper value than a parser's stack could be written and never read again."""

MOST_LEVELS = 64
"""Deeper than any payload or output is, and far from where parsers give up: Python's at 1,000, pydantic's at 200."""


def nests_too_deep(document: object) -> bool:
    """Whether anything stands more than `MOST_LEVELS` levels below the outermost; needs no stack to find out."""
    level = [document]
    for _ in range(MOST_LEVELS + 1):
        if not level:
            return False
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
    return bool(level)
