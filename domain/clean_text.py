"""Text as PostgreSQL can keep it, and every reader of JSON can read it again."""

import re

UNSTORABLE = "carries a character that PostgreSQL cannot store"
"""Why text is refused that `clean_text` would change."""

_SURROGATE = re.compile("[\ud800-\udfff]")


def clean_text(text: str) -> str:
    """The text without NUL and lone surrogates, which PostgreSQL's text and jsonb refuse."""
    return _SURROGATE.sub("\ufffd", text.replace("\x00", ""))
