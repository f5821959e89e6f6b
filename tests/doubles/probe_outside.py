"""The world outside the ledger as the probe jobs see it: a journal they write and gates they wait at, as files."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from sandbox.servers.waiting import wait_until

FOLDER = "POSTROOM_PROBE_FOLDER"
"""The variable of the environment that names the folder to a worker."""

PATIENCE_S = 60.0
"""How long a job waits at a gate that no test opens, in seconds."""


@dataclass(frozen=True)
class Outside:
    """One test's outside world, shared by its workers and itself."""

    folder: Path

    @classmethod
    def here(cls) -> Self:
        """The world of this worker."""
        return cls(Path(os.environ[FOLDER]))

    def note(self, *words: object) -> None:
        """Append a line; one write to a file opened for appending, so lines of many processes do not mix."""
        with (self.folder / "journal").open("ab", buffering=0) as journal:
            journal.write((" ".join(map(str, words)) + "\n").encode())

    def lines(self, first: str = "") -> list[list[str]]:
        """The words of all lines so far, or of those that begin with the given word."""
        journal = self.folder / "journal"
        lines = journal.read_text().splitlines() if journal.exists() else []
        return [line.split() for line in lines if line.startswith(first)]

    def open_gate(self, name: str) -> None:
        """Let everybody through who waits at this gate, or will."""
        (self.folder / f"gate-{name}").touch()

    def wait_at(self, name: str) -> None:
        """Wait until the gate is open."""
        wait_until((self.folder / f"gate-{name}").exists, within=PATIENCE_S, describe=f"gate {name}")
