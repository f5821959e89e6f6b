"""Text as PostgreSQL can keep it, and every reader of JSON can read it again."""

import re
from collections.abc import Iterator

UNSTORABLE = "carries a character that PostgreSQL cannot store"
"""Why text is refused that `clean_text` would change."""

_SURROGATE = re.compile("[\ud800-\udfff]")


def clean_text(text: str) -> str:
    """The text without NUL and lone surrogates, which PostgreSQL's text and jsonb refuse."""
    return _SURROGATE.sub("\ufffd", text.replace("\x00", ""))


def texts_of(document: object) -> Iterator[str]:
    """Every text of a JSON value, the names of its fields included; needs no stack."""
    left = [document]
    while left:
        value = left.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            left += [*value, *value.values()]
        elif isinstance(value, list | tuple):
            left += value
