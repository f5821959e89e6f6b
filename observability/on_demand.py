"""Loads a package in the processes that need it; a vendor's costs 8 to 40 MiB and up to a second, Prometheus' 2 MiB.

OpenTelemetry's costs far more than Prometheus'. Packages of an extra may not be installed at all.
"""

import importlib
import importlib.util
from dataclasses import dataclass
from typing import Any

from domain.jobs.failures import Permanent


@dataclass(frozen=True, slots=True)
class Extra:
    """Packages that an installation may leave out, by the names under which they are imported."""

    name: str
    packages: tuple[str, ...]
    without: str
    """What does not work when one of them is missing."""

    @property
    def remedy(self) -> str:
        """How an operator installs it."""
        return f"pip install 'postroom[{self.name}]' for the workers of the queue {self.name}, and start them anew"


EXTRAS = (
    Extra("planning", ("highspy", "numpy"), "planning.suggest_assignments"),
    Extra("exports", ("typst",), "exports.project_plan as PDF"),
)


def missing_packages(extra: Extra) -> tuple[str, ...]:
    """The extra's packages that this process could not import; none of them is loaded by the question."""
    return tuple(package for package in extra.packages if not _is_installed(package))


def on_demand(name: str) -> Any:  # noqa: ANN401 - the caller annotates what it expects
    """The object `module:name`; its module is imported once per process.

    Raises `Permanent` with the extra where a package of an extra is not installed: no attempt of this worker finds it.
    """
    module, _, attribute = name.partition(":")
    try:
        loaded = importlib.import_module(module)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        extra = next((one for one in EXTRAS if package in one.packages), None)
        if extra is None:
            raise
        reason = f"the package {package} of the extra {extra.name} is not installed here: {extra.remedy}"
        raise Permanent(reason, code="extra.missing") from None
    return getattr(loaded, attribute)


def _is_installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ValueError:
        # So it is for a module that was put out of reach in `sys.modules`.
        return False
