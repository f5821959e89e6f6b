"""A fence around hostile text that the text cannot close, and what is taken out of it first."""

import re

from domain.jobs.failures import Invalid
from domain.orgs.spelling.normal_form import visible

_BOUNDARY = re.compile(r"[A-Za-z0-9]{16,64}")
REMOVED = "[removed]"


def neutralise(text: str, boundary: str, longest: int) -> str:
    """Hostile text without characters a reader cannot see, without the boundary, at most `longest` characters.

    Invisible characters can carry orders to a model that no person would notice, so they go first; what they hid
    is then in the open when the boundary is looked for.
    """
    without = re.sub(re.escape(boundary), REMOVED, visible(text), flags=re.IGNORECASE)
    return without if len(without) <= longest else f"{without[:longest]}\n[cut]"


def fence(name: str, text: str, boundary: str, longest: int) -> str:
    """The text between two lines that carry the boundary, a random word made afresh for each message."""
    if not _BOUNDARY.fullmatch(boundary):
        raise Invalid("boundary", "is not 16 to 64 letters and digits")
    return f"<<<{name} {boundary}>>>\n{neutralise(text, boundary, longest)}\n<<<end {boundary}>>>"


def one_line(text: str) -> str:
    """A header's value on one line, so that it cannot pass for another header."""
    return " ".join(text.split())
