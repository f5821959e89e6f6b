"""The payloads of the workflows family. What a run does stands in its rows; a job names the run."""

from typing import Annotated, Any
from uuid import UUID

from pydantic import Field

from domain.jobs.uniqueness import while_queued
from domain.payloads.payload import Payload


class RunPayload(Payload, job_type="workflows.run", aliases=("ENGINE_RUN",)):
    """Which workflow runs, and on what. The run has the id of the job, so that no retry makes another."""

    workflow: Annotated[str, Field(min_length=1, max_length=63, examples=["morning-brief"])]
    version: Annotated[int | None, Field(ge=1, le=2**31 - 1)] = None
    """None is the latest one when the run begins."""
    input: dict[str, Any] = {}


class AdvancePayload(
    Payload,
    job_type="workflows.advance",
    unique=while_queued("run_id"),
    serial_by="run_id",
    asked_by="workflows.run, or an event, a decision, a resume or a cancellation of the run",
):
    """Which run goes on: its ended nodes are counted, and those whose turn has come begin."""

    run_id: UUID
