"""Takes secrets out of what is about to be logged or kept: by a field's name, and by the look of a value."""

import re
from collections.abc import Mapping

HIDDEN = "[redacted]"

SECRET_NAMES = re.compile(
    r"^(.*[_-])?(passwo?r?d|passphrase|secrets?|api[_-]?keys?|(access|refresh|id|bearer)?[_-]?token"
    r"|authorization|cookies?|credentials?|private[_-]?key|client[_-]?secret|sealing[_-]?keys)$",
    re.IGNORECASE,
)
"""Names under which a value is never shown."""

SECRET_LOOKS = re.compile(
    r"(?P<scheme>\b(?:Bearer|Basic)\s+)[A-Za-z0-9+/=._~-]{8,}"
    r"|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"  # a JSON web token
    r"|\bya29\.[A-Za-z0-9_-]{8,}"  # a Google access token
    r"|\b1//[A-Za-z0-9_-]{16,}"  # a Google refresh token
    r"|\bsk-[A-Za-z0-9_-]{12,}"  # a key of Anthropic and others
    r"|(?P<login>://[^\s:/@]*:)[^\s@/]+(?=@)"  # a password inside a URL
)
"""What secrets look like inside a text."""

DEEPEST = 12
"""Structures are followed this far; what lies deeper is hidden, so that a hostile nesting cannot exhaust the stack."""


def redact_text(text: str) -> str:
    """The text without anything that looks like a secret."""
    return SECRET_LOOKS.sub(lambda m: (m["scheme"] or m["login"] or "") + HIDDEN, text)


def redact(value: object, depth: int = 0) -> object:
    """The value without secrets; mappings, sequences and texts are copied, everything else is kept."""
    if depth > DEEPEST:
        return HIDDEN
    match value:
        case str():
            return redact_text(value)
        case Mapping():
            return {
                key: HIDDEN if SECRET_NAMES.match(str(key)) and item is not None else redact(item, depth + 1)
                for key, item in value.items()
            }
        case list() | tuple() | set() | frozenset():
            return [redact(item, depth + 1) for item in value]
        case _:
            return value
