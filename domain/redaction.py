"""Takes secrets out of what is about to be logged or kept: by a field's name, and by the look of a value."""

from collections.abc import Mapping
from typing import Any

from domain.secrets import names_secret, without_secrets

HIDDEN = "[redacted]"

DEEPEST_DOCUMENT = 200
"""Deeper than any document that is kept (`domain/jobs/nesting.py`), and far from the end of Python's stack."""

DEEPEST = 12
"""Structures are followed this far; what lies deeper is hidden, so that a hostile nesting cannot exhaust the stack."""


def redact_text(text: str, most: int | None = None) -> str:
    """The text without anything that looks like a secret; of at most `most` characters, which are cut before.

    The word at the cut is left out: half a secret no longer looks like one.
    """
    if most is not None and len(text) > most:
        text = f"{text[: most - 1].rpartition(' ')[0]}…"
    return without_secrets(text, HIDDEN)


def redact_document(document: Mapping[str, Any]) -> dict[str, Any]:
    """The same document without what looks like a secret in its texts; names and all other values are kept."""
    return {key: _without(value, 0) for key, value in document.items()}


def _without(value: object, depth: int) -> object:
    if depth > DEEPEST_DOCUMENT:
        return HIDDEN
    match value:
        case str():
            return redact_text(value)
        case Mapping():
            return {key: _without(item, depth + 1) for key, item in value.items()}
        case list() | tuple():
            return [_without(item, depth + 1) for item in value]
        case _:
            return value


def redact(value: object, depth: int = 0) -> object:
    """The value without secrets; mappings, sequences and texts are copied, everything else is kept."""
    if depth > DEEPEST:
        return HIDDEN
    match value:
        case str():
            return redact_text(value)
        case Mapping():
            return {
                key: HIDDEN if names_secret(str(key)) and item is not None else redact(item, depth + 1)
                for key, item in value.items()
            }
        case list() | tuple() | set() | frozenset():
            return [redact(item, depth + 1) for item in value]
        case _:
            return value
