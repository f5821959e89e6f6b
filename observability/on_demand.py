"""Loads a package in the processes that need it; each vendor's costs 70 MiB and a second, Prometheus' 2 MiB and 40 ms.

OpenTelemetry's costs far more than Prometheus'.
"""

import importlib
from typing import Any


def on_demand(name: str) -> Any:  # noqa: ANN401 - the caller annotates what it expects
    """The object `module:name`; its module is imported once per process."""
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)
