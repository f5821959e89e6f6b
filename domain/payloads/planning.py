"""The payloads of the planning family: which project, and what is wanted of its plan."""

from typing import Annotated, Self
from uuid import UUID

from pydantic import AwareDatetime, Field, model_validator

from domain.jobs.contract import misfit
from domain.jobs.failures import Invalid
from domain.jobs.uniqueness import while_active
from domain.payloads.other_names import OtherName
from domain.payloads.payload import Payload
from domain.planning.model import Weights
from domain.planning.rank import MOST_ALTERNATIVES, MOST_DIFFER

MOST_SECONDS = 120
"""For one plan. After a minute a plan that is not proved yet is nearly the best (docs: planning.md#measured)."""


class ScanConflictsPayload(
    Payload, job_type="planning.scan_conflicts", unique=while_active("project_id", "since", "until")
):
    """The project, and from when until when: a conflict is told when one of its slots is in that time."""

    project_id: UUID
    since: Annotated[AwareDatetime, OtherName("from"), Field(examples=["2026-05-01T00:00:00Z"])]
    until: Annotated[AwareDatetime, Field(examples=["2026-05-02T00:00:00Z"])]

    @model_validator(mode="after")
    def _is_a_time(self) -> Self:
        if self.until <= self.since:
            raise misfit("until", "is not after since")
        return self


class SuggestAssignmentsPayload(Payload, job_type="planning.suggest_assignments", unique=while_active()):
    """The project, or one run sheet of it; what points are given for; how many plans, and how different.

    Each plan is looked for during `time_limit_s` at most. What is not given of `weights` has its default.
    """

    project_id: UUID
    run_sheet_id: UUID | None = None
    weights: Annotated[dict[str, int] | None, Field(examples=[{"stability": 100}])] = None
    alternatives: Annotated[int, Field(ge=1, le=MOST_ALTERNATIVES)] = 3
    differ: Annotated[int, Field(ge=1, le=MOST_DIFFER)] = 5
    time_limit_s: Annotated[int, Field(ge=1, le=MOST_SECONDS)] = 20

    @model_validator(mode="after")
    def _has_weights(self) -> Self:
        try:
            Weights.from_json(self.weights or {})
        except Invalid as refused:
            raise misfit(refused.field, refused.reason.removeprefix(f"{refused.field}: ")) from None
        return self
