"""The payloads of the budgets family."""

from datetime import date
from typing import Annotated

from pydantic import Field

from domain.jobs.uniqueness import for_ttl
from domain.payloads.payload import Payload

MOST_MICROCENTS = 10**18
"""As a budget is bounded (settings.py)."""


class AlertPayload(Payload, job_type="budgets.alert", unique=for_ttl("day")):
    """The day in UTC, and what the org might have spent on it."""

    day: date
    daily_microcents: Annotated[int, Field(ge=0, le=MOST_MICROCENTS)]
