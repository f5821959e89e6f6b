"""The result of a job as a client sees it who waits for it: what the ledger knows, and what of that is told."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from domain.jobs.job import JsonObject, State

LARGEST_KEPT = 4 * 1024 * 1024
"""Bytes of an output, as JSON, that the ledger takes: other jobs' ends are written in the same statement."""

LARGEST_OUTPUT = 1024 * 1024
"""Bytes of an output, as JSON, that are handed out: a result travels through a broker or a cache for each client."""

FIRST_PAUSE_S = 0.02
"""How soon a client looks again; a look costs the database less than a tenth of a millisecond."""


@dataclass(frozen=True, slots=True)
class JobResult:
    """What the ledger knows of a job that somebody waits for; without a state its row is past its retention."""

    state: State | None
    attempt: int = 0
    output: JsonObject | None = None
    output_bytes: int = 0
    """The size of the output; one above `LARGEST_OUTPUT` is not read."""
    error: JsonObject | None = None
    cancel_reason: str | None = None
    finished_at: datetime | None = None
    refusal: JsonObject | None = None
    """Field and reason of a message that did not become a job."""
    job_id: UUID | None = None

    @property
    def told_output(self) -> JsonObject:
        """The output, or how large it is."""
        if self.output is None and self.output_bytes:
            return {"output_bytes": self.output_bytes, "job_id": str(self.job_id)}
        return self.output or {}

    @property
    def told_error(self) -> tuple[str, str]:
        """Code and reason of a job that did not succeed."""
        if self.refusal is not None:
            return "invalid", f"{self.refusal.get('field')}: {self.refusal.get('reason')}"
        if self.state is None:
            return "gone", "the job's row is past its retention"
        error = self.error or {}
        return str(error.get("code") or "failure"), str(error.get("reason") or "the job failed")


def pauses(longest: float) -> Iterator[float]:
    """How many seconds to wait between two looks: twice as long each time, up to `longest`."""
    pause = min(FIRST_PAUSE_S, longest)
    while True:
        yield pause
        pause = min(2 * pause, longest)
