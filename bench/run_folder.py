"""The folder shared by the benchmark and the measured processes: jobs done, processes ready, start barrier."""

import shutil
from pathlib import Path


class RunFolder:
    """What `bench.measured_job` writes and waits for."""

    def __init__(self, folder: Path) -> None:
        """Make the folder, or empty it."""
        self.folder = folder.absolute()
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)

    def jobs_done(self) -> int:
        """How many jobs were executed."""
        file = self.folder / "done"
        return file.stat().st_size if file.exists() else 0

    def ready(self) -> int:
        """How many processes wait at the start barrier in their first job."""
        file = self.folder / "ready"
        return len(set(file.read_text().split())) if file.exists() else 0

    def release_start_barrier(self) -> None:
        """Let every process begin."""
        (self.folder / "start").touch()

    def latencies_ms(self) -> list[float]:
        """The latency of each job that recorded one, in milliseconds."""
        file = self.folder / "latencies"
        return [int(line) / 1e6 for line in file.read_text().split()] if file.exists() else []
