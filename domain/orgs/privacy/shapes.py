"""What kind of values a document has, without the values: what an operator sees first of a customer's data."""

import re
from collections.abc import Mapping
from itertools import islice

from domain.orgs.privacy.redaction import DEEPEST

MOST_SHOWN = 50
"""Members of an object or an array; of the others the number is said."""
MORE = "…"
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,60}", re.ASCII)
"""A field's name. Another key, such as an address, may be a customer's own word."""
KINDS = (
    ("uuid", re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)),
    ("time", re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{5,16}(?:Z|[+-][0-9]{2}:[0-9]{2})", re.ASCII)),
)
"""Texts that say nothing of a person, and help to see what is wrong."""

WORDS = {bool: "boolean", int: "number", float: "number"}


def shape_of_values(value: object, depth: int = 0) -> object:
    """The JSON value with a word in the place of each value: `{"account_id": "uuid", "subject": "text(41)"}`.

    Whatever it was, its shape is short, is JSON, and has no text of the value but names of fields.
    """
    if isinstance(value, Mapping | list | tuple) and depth > DEEPEST:
        return MORE
    match value:
        case Mapping():
            fields = {_name(key, number): shape_of_values(inner, depth + 1) for number, (key, inner) in _first(value)}
            return fields | ({MORE: f"{len(value) - MOST_SHOWN} more"} if len(value) > MOST_SHOWN else {})
        case list() | tuple():
            members = [shape_of_values(inner, depth + 1) for inner in value[:MOST_SHOWN]]
            return members + ([f"{len(value) - MOST_SHOWN} more"] if len(value) > MOST_SHOWN else [])
        case str():
            return next((kind for kind, look in KINDS if look.fullmatch(value)), f"text({len(value)})")
        case _:
            return None if value is None else WORDS.get(type(value), type(value).__name__)


def _first(document: Mapping[object, object]) -> "enumerate[tuple[object, object]]":
    return enumerate(islice(document.items(), MOST_SHOWN), start=1)


def _name(key: object, number: int) -> str:
    text = str(key)
    return text if NAME.fullmatch(text) else f"field {number}: text({len(text)})"
