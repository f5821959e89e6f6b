"""The external system of the probe jobs: a journal that they write, and gates that they wait at, as files."""

from dataclasses import dataclass
from typing import ClassVar

from sandbox.servers.waiting import wait_until
from tests.doubles.probes.journal_folder import JournalFolder

FOLDER = "POSTROOM_PROBE_FOLDER"
"""The environment variable that names the folder to a worker."""

GATE_WITHIN_S = 60.0
"""How many seconds a job waits at a gate that no test opens."""


@dataclass(frozen=True)
class Outside(JournalFolder):
    """One test's external system, shared by its workers and the test."""

    variable: ClassVar[str] = FOLDER

    def note(self, *words: object) -> None:
        """Append a line to the journal."""
        self.append("journal", " ".join(map(str, words)))

    def lines(self, first: str = "") -> list[list[str]]:
        """The words of all lines so far, or of those that begin with the given text."""
        return [line.split() for line in self.read("journal") if line.startswith(first)]

    def open_gate(self, name: str) -> None:
        """Open a gate, for jobs that wait there and for later ones."""
        (self.folder / f"gate-{name}").touch()

    def is_open(self, name: str) -> bool:
        """Whether a gate is open."""
        return (self.folder / f"gate-{name}").exists()

    def wait_at(self, name: str) -> None:
        """Wait until the gate is open."""
        wait_until(lambda: self.is_open(name), within=GATE_WITHIN_S, describe=f"gate {name}")
