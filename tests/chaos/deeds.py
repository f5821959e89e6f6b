"""The world outside the ledger during a chaos run: a journal of deeds that outlives whoever did them."""

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
    """One run's outside world, shared by all its workers and the checker."""

    folder: Path

    @classmethod
    def here(cls) -> Self:
        """The world of this worker."""
        return cls(Path(os.environ[FOLDER]))

    def do(self, key: str) -> None:
        """Do the deed: it is on the disk before this returns, and no other process's line can mix with it."""
        self._append("deeds", key, sync=True)

    def was_done(self, key: str) -> bool:
        """Whether it was done, as a provider answers who asks."""
        return f"{key}\n" in self._read("deeds")

    def deeds(self) -> Counter[str]:
        """How often each deed was done."""
        return Counter(self._read("deeds").splitlines())

    def begin(self, job_id: UUID, attempt: int) -> None:
        """Note which process began an attempt, so that the checker knows whose death orphaned it."""
        self._append("begun", f"{job_id} {attempt} {os.getpid()}", sync=False)

    def begun(self) -> dict[tuple[UUID, int], list[int]]:
        """The processes that began each attempt; one given back by a shutdown or a snooze is begun again."""
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
