"""Files of one test's folder that many processes append lines to: the external system of probe jobs and chaos jobs."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self


@dataclass(frozen=True)
class JournalFolder:
    """A folder of append-only files, shared by a test and its workers."""

    variable: ClassVar[str]
    """The environment variable that names the folder to a worker."""
    folder: Path

    @classmethod
    def here(cls) -> Self:
        """The folder that this process's environment names."""
        return cls(Path(os.environ[cls.variable]))

    def append(self, name: str, line: str, *, sync: bool = False) -> None:
        """Append a line by one write, so that lines of many processes do not mix; with `sync` it is on disk then."""
        descriptor = os.open(self.folder / name, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(descriptor, f"{line}\n".encode())
            if sync:
                os.fdatasync(descriptor)
        finally:
            os.close(descriptor)

    def read(self, name: str) -> list[str]:
        """The lines of a file so far."""
        path = self.folder / name
        return path.read_text().splitlines() if path.exists() else []
