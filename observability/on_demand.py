"""Loads a package in the processes that need it; each vendor's costs 70 MiB and a second, Prometheus' 2 MiB and 40 ms.

OpenTelemetry's costs far more than Prometheus'.
"""

import importlib
from typing import Any

from domain.jobs.failures import Permanent


def on_demand(name: str, *, extra: str = "") -> Any:  # noqa: ANN401 - the caller annotates what it expects
    """The object `module:name`; its module is imported once per process.

    `extra` is what has to be installed for the module's packages. Raises `Permanent` with it where one is missing: no
    attempt in the same installation finds it.
    """
    module, _, attribute = name.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except ModuleNotFoundError as error:
        if not extra or error.name is None or f"{module}.".startswith(f"{error.name}."):
            raise  # a module of ours is missing
        reason = f"the package {error.name} is missing: install Postroom with the extra {extra}"
        raise Permanent(reason, code="extra.missing") from error
