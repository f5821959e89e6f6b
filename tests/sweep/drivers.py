"""The ways to take one job from its hint to its settlement; the sweep goes through one and knows nothing else."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from engine.catalogue import Job
from engine.process.runtime import Runtime
from engine.worker import runner

Driver = Callable[[Runtime, Job[Any], UUID], str]
"""Claims, executes and settles a job in this process, if it can be claimed; returns what became of it."""


def perform(runtime: Runtime, job_type: Job[Any], job_id: UUID) -> str:
    """One job by itself: claimed and started in one statement, settled in another."""
    return runner.run(runtime, job_type, job_id)


DRIVERS: dict[str, Driver] = {"one_by_one": perform}
