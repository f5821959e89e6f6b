"""The external system of a chaos run: a journal of effects on disk, which survives the process that performed them."""

import os
from collections import Counter
from dataclasses import dataclass
from typing import ClassVar
from uuid import UUID

from tests.doubles.probes.journal_folder import JournalFolder

FOLDER = "POSTROOM_CHAOS_FOLDER"
"""The variable of the environment that names the folder to a worker."""


@dataclass(frozen=True)
class Outside(JournalFolder):
    """One run's external system, shared by all its workers and the checker."""

    variable: ClassVar[str] = FOLDER

    def perform(self, key: str) -> None:
        """Perform an effect: one line, on disk before this returns and never mixed with another process's line."""
        self.append("effects", key, sync=True)

    def was_performed(self, key: str) -> bool:
        """Whether the effect was performed, as a provider would answer."""
        return key in self.read("effects")

    def performed(self) -> Counter[str]:
        """How often each effect was performed."""
        return Counter(self.read("effects"))

    def begin(self, job_id: UUID, attempt: int) -> None:
        """Record which process began an attempt, so that the checker knows which death orphaned it."""
        self.append("begun", f"{job_id} {attempt} {os.getpid()}")

    def begun(self) -> dict[tuple[UUID, int], list[int]]:
        """The processes that began each attempt; an attempt that is returned or snoozed begins again."""
        begun: dict[tuple[UUID, int], list[int]] = {}
        for line in self.read("begun"):
            job_id, attempt, pid = line.split()
            begun.setdefault((UUID(job_id), int(attempt)), []).append(int(pid))
        return begun
