"""The payloads of the planning family: which project, and what is wanted of its plan."""

from typing import Annotated, Literal, Self
from uuid import UUID

from pydantic import Field, model_validator

from domain.jobs.contract import Instant, misfit
from domain.jobs.uniqueness import while_active
from domain.payloads.declaration import ORG
from domain.payloads.other_names import OtherName
from domain.payloads.payload import Payload

MOST_WEIGHT = 100_000
"""A solver calculates with a tolerance of 10⁻⁷ a row. With a weight of 10⁹ that is a hundred points, so that a plan
would be called best that is not; with 10⁵ and the highest priority it is a tenth of a point."""
MOST_ALTERNATIVES = 10
MOST_DIFFER = 1_000
MOST_SECONDS = 120
"""For one plan. After a minute a plan that is not proved yet is nearly the best (docs: plans.md#measured)."""

FIRST_YEAR, LAST_YEAR = 1_600, 2_400
"""Of all times of a plan. By the clocks of no zone such a time leaves what a computer's calendar knows."""

WeightName = Literal["coverage", "preference", "stability", "travel", "fairness"]
"""Those of `domain.planning.model.Weights`."""
GivenWeights = dict[WeightName, Annotated[int, Field(ge=0, le=MOST_WEIGHT)]]


class ScanConflictsPayload(
    Payload, job_type="planning.scan_conflicts", unique=while_active("project_id", "since", "until")
):
    """The project, and from when until when: a conflict is told when one of its slots is in that time."""

    project_id: UUID
    since: Annotated[Instant, OtherName("from"), Field(examples=["2026-05-01T00:00:00Z"])]
    until: Annotated[Instant, Field(examples=["2026-05-02T00:00:00Z"])]

    @model_validator(mode="after")
    def _is_a_time(self) -> Self:
        for name, moment in (("since", self.since), ("until", self.until)):
            if not FIRST_YEAR <= moment.year <= LAST_YEAR:
                raise misfit(name, f"is not between the years {FIRST_YEAR} and {LAST_YEAR}")
        if self.until <= self.since:
            raise misfit("until", "is not after since")
        return self


MOST_AT_ONCE = 2
"""Solvers of an org. One may take 25 minutes, and a worker has three slots: the third stays for others."""


class SuggestAssignmentsPayload(
    Payload,
    job_type="planning.suggest_assignments",
    unique=while_active(),
    serial_by=ORG,
    serial_limit=MOST_AT_ONCE,
):
    """The project, or one run sheet of it; what points are given for; how many plans, and how different.

    Each plan is looked for during `time_limit_s` at most. What is not given of `weights` has its default.
    """

    project_id: UUID
    run_sheet_id: UUID | None = None
    weights: Annotated[GivenWeights | None, Field(examples=[{"stability": 100}])] = None
    alternatives: Annotated[int, Field(ge=1, le=MOST_ALTERNATIVES)] = 3
    differ: Annotated[int, Field(ge=1, le=MOST_DIFFER)] = 5
    time_limit_s: Annotated[int, Field(ge=1, le=MOST_SECONDS)] = 20
