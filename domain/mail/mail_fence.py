"""A fence around hostile text that the text cannot close, and what is taken out of it first."""

import re
import unicodedata

from domain.clean_text import clean_text
from domain.jobs.failures import Invalid

_BOUNDARY = re.compile(r"[A-Za-z0-9]{16,64}")
_JOINERS = frozenset({"\u200c", "\u200d"})
"""Zero-width joiners that some scripts and emoji need."""
_CONTROLS = frozenset({"Cc", "Cf", "Co", "Cn"})
_KEPT_CONTROLS = frozenset({"\n", "\t"})
REMOVED = "[removed]"


def neutralise(text: str, boundary: str, longest: int) -> str:
    """Hostile text without characters a reader cannot see, without the boundary, at most `longest` characters.

    Invisible characters can carry orders to a model that no person would notice, so they go first; what they hid
    is then in the open when the boundary is looked for.
    """
    seen = visible(text[: longest * 2])
    without = re.sub(re.escape(boundary), REMOVED, seen, flags=re.IGNORECASE)
    return without if len(without) <= longest else f"{without[:longest]}\n[cut]"


def visible(text: str) -> str:
    """The text without characters that a reader cannot see."""
    return "".join(one for one in clean_text(text) if _is_visible(one))


def fence(name: str, text: str, boundary: str, longest: int) -> str:
    """The text between two lines that carry the boundary, a random word made afresh for each message."""
    if not _BOUNDARY.fullmatch(boundary):
        raise Invalid("boundary", "is not 16 to 64 letters and digits")
    return f"<<<{name} {boundary}>>>\n{neutralise(text, boundary, longest)}\n<<<end {boundary}>>>"


def one_line(text: str) -> str:
    """A header's value on one line, so that it cannot pass for another header."""
    return " ".join(text.split())


def _is_visible(character: str) -> bool:
    if character in _KEPT_CONTROLS or character in _JOINERS:
        return True
    return unicodedata.category(character) not in _CONTROLS
