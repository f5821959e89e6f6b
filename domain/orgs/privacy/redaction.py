"""Takes secrets out of what is about to be logged or kept: by a field's name, and by the look of a value."""

from collections.abc import Mapping
from typing import Any

from domain.orgs.privacy.secrets import names_secret, without_secrets

HIDDEN = "[redacted]"

DEEPEST = 200
"""Deeper than any document that is kept (`domain/jobs/nesting.py`), and far from the end of Python's stack: what lies
deeper is hidden, so that a hostile nesting cannot exhaust the stack."""


def redact_text(text: str, most: int | None = None) -> str:
    """The text without anything that looks like a secret; of at most `most` characters, which are cut before.

    The word at the cut is left out: half a secret no longer looks like one.
    """
    if most is not None and len(text) > most:
        text = f"{text[: most - 1].rpartition(' ')[0]}…"
    return without_secrets(text, HIDDEN)


def redact_document(document: Mapping[str, Any], depth: int = 0) -> dict[str, Any]:
    """The same document without secrets: what stands under a secret's name, and what looks like one in a text."""
    return {
        key: HIDDEN if names_secret(str(key)) and value is not None else redact(value, depth + 1)
        for key, value in document.items()
    }


def redact(value: object, depth: int = 0) -> object:
    """The value without secrets; mappings, sequences and texts are copied, everything else is kept."""
    if depth > DEEPEST:
        return HIDDEN
    match value:
        case str():
            return redact_text(value)
        case Mapping():
            return redact_document(value, depth)
        case list() | tuple() | set() | frozenset():
            return [redact(item, depth + 1) for item in value]
        case _:
            return value
