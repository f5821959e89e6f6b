"""PostgreSQL's array literals, made by hand for statements over many jobs: a driver's care per element shows there."""

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any
from uuid import UUID

Element = UUID | str | int | bool | datetime | dict[str, Any] | None


def array(elements: Iterable[Element]) -> str:
    """The literal, to be cast to its type in the statement; a dict becomes JSON, None becomes NULL."""
    return f"{{{','.join(map(_element, elements))}}}"


def _element(element: Element) -> str:
    match element:
        case None:
            return "NULL"
        case UUID() | int():
            return str(element)
        case datetime():
            return element.isoformat()
        case dict():
            return _quoted(json.dumps(element))
        case str():
            return _quoted(element)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
