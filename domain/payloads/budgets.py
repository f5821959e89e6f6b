"""Payloads of the budgets family."""

from datetime import date

from domain.payloads.payload import Payload


class AlertPayload(Payload):
    """The day in UTC, and what the org might have spent on it."""

    day: date
    daily_microcents: int
