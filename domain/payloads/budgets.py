"""The payloads of the budgets family."""

from datetime import date

from domain.jobs.uniqueness import for_ttl
from domain.payloads.payload import Payload


class AlertPayload(Payload, job_type="budgets.alert", unique=for_ttl("day")):
    """The day in UTC, and what the org might have spent on it."""

    day: date
    daily_microcents: int
