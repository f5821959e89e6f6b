"""Whether a process does its work: named checks, each with a finding that a person understands."""

from collections.abc import Callable, Mapping
from typing import NamedTuple


class Finding(NamedTuple):
    """What a check found."""

    ok: bool
    said: str


HealthCheck = Callable[[], Finding]
"""Asked by a supervisor's probe, in a thread of its own; it must not wait for anything."""


class Health:
    """The checks of one process. A process is healthy when all of them pass."""

    def __init__(self) -> None:
        """Begin without checks: the process answers, and no more is known."""
        self._checks: dict[str, HealthCheck] = {}

    def add(self, name: str, check: HealthCheck) -> None:
        """Ask this too; a second check of one name replaces the first."""
        self._checks[name] = check

    def findings(self) -> Mapping[str, Finding]:
        """What every check finds now."""
        return {name: check() for name, check in tuple(self._checks.items())}

    @property
    def healthy(self) -> bool:
        """Whether all checks pass."""
        return all(finding.ok for finding in self.findings().values())
