"""The payloads of the workflows family: a job that starts a run, and the short ones that take it further."""

import json
from typing import Annotated
from uuid import UUID

from pydantic import AfterValidator, Field, StringConstraints

from domain.jobs.job import JsonObject
from domain.jobs.uniqueness import while_queued
from domain.payloads.payload import Payload

WORKFLOW_NAME = r"^[a-z0-9][a-z0-9_-]{0,62}$"
LARGEST_INPUT = 64 * 1024
"""Bytes as JSON of a run's input."""


def _bounded(given: JsonObject) -> JsonObject:
    if len(json.dumps(given, ensure_ascii=False).encode("utf-8", "surrogatepass")) > LARGEST_INPUT:
        raise ValueError(f"has more than {LARGEST_INPUT} bytes")
    return given


WorkflowName = Annotated[str, StringConstraints(pattern=WORKFLOW_NAME)]
RunInput = Annotated[JsonObject, AfterValidator(_bounded)]


class RunPayload(Payload, job_type="workflows.run", aliases=("ENGINE_RUN",)):
    """Which workflow is run, and with what input; without a version it is the newest. The run's id is the job's."""

    workflow: Annotated[WorkflowName, Field(examples=["morning-brief"])]
    version: Annotated[int, Field(ge=1, le=2**31 - 1)] | None = None
    input: RunInput = Field({}, examples=[{"account_id": "3fa85f64-5717-4562-b3fc-2c963f66afa6"}])


class AdvancePayload(
    Payload,
    job_type="workflows.advance",
    unique=while_queued("run_id"),
    serial_by="run_id",
    asked_by="workflows.run, or an event, a decision, a resume or a cancellation of the run",
):
    """Which run is taken further: the ends of its nodes are counted, and the next ones begin."""

    run_id: UUID
