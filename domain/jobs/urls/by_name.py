"""Values by name, as an operator writes them into one setting: an object in JSON."""

import json
from typing import Annotated, TypeVar

from pydantic import BeforeValidator

Value = TypeVar("Value")


def _read(given: object) -> object:
    """The object that a text holds; raises `ValueError` without the text: it may be a secret.

    An empty text names nothing.
    """
    if not isinstance(given, str):
        return given
    try:
        found: object = json.loads(given or "{}")
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ValueError('must be an object in JSON, as {"name": "value"}')  # noqa: TRY004 - pydantic names the setting
    return found


ByName = Annotated[dict[str, Value], BeforeValidator(_read)]
"""From the environment, a file or a program."""
