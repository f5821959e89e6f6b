"""What few processes need, loaded by the one that does: the vendors' packages alone cost each 70 MiB and a second."""

import importlib
from typing import Any


def on_demand(place: str) -> Any:  # noqa: ANN401 - the caller annotates what it expects
    """The object `module:name`; imported once per process."""
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)
