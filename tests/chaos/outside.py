"""The external system of a chaos run: a journal of effects on disk, which survives the process that performed them."""

import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Self
from uuid import UUID

FOLDER = "POSTROOM_CHAOS_FOLDER"
"""The variable of the environment that names the folder to a worker."""


@dataclass(frozen=True)
class Outside:
    """One run's external system, shared by all its workers and the checker."""

    folder: Path

    @classmethod
    def here(cls) -> Self:
        """The external system that this worker's environment names."""
        return cls(Path(os.environ[FOLDER]))

    def perform(self, key: str) -> None:
        """Perform an effect: one line, on disk before this returns and never mixed with another process's line."""
        self._append("effects", key, sync=True)

    def was_performed(self, key: str) -> bool:
        """Whether the effect was performed, as a provider would answer."""
        return f"{key}\n" in self._read("effects")

    def performed(self) -> Counter[str]:
        """How often each effect was performed."""
        return Counter(self._read("effects").splitlines())

    def begin(self, job_id: UUID, attempt: int) -> None:
        """Record which process began an attempt, so that the checker knows which death orphaned it."""
        self._append("begun", f"{job_id} {attempt} {os.getpid()}", sync=False)

    def begun(self) -> dict[tuple[UUID, int], list[int]]:
        """The processes that began each attempt; an attempt that is returned or snoozed begins again."""
        begun: dict[tuple[UUID, int], list[int]] = {}
        for line in self._read("begun").splitlines():
            job_id, attempt, pid = line.split()
            begun.setdefault((UUID(job_id), int(attempt)), []).append(int(pid))
        return begun

    def _append(self, name: str, line: str, *, sync: bool) -> None:
        descriptor = os.open(self.folder / name, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(descriptor, f"{line}\n".encode())
            if sync:
                os.fdatasync(descriptor)
        finally:
            os.close(descriptor)

    def _read(self, name: str) -> str:
        path = self.folder / name
        return path.read_text() if path.exists() else ""
