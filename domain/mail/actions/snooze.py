"""Snooze: take a message out of the inbox, and bring it back at a time."""

from datetime import datetime, timedelta
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from domain.jobs.contract import Instant, parse_time
from domain.jobs.failures import Invalid
from domain.mail.actions.action import Action
from domain.mail.actions.kinds import ActionKind, Danger, Inverse

A_YEAR = timedelta(days=366)
"""How far ahead a snooze may wake."""


class Snooze(Action):
    """Take a message out of the inbox and bring it back: `until` a time, or after an `amount` of `units`."""

    danger = Danger.REVERSIBLE
    inverse = Inverse.UNSNOOZE
    kind: Literal[ActionKind.SNOOZE] = ActionKind.SNOOZE
    until: Instant | None = None
    amount: Annotated[int, Field(strict=True, ge=1)] | None = None
    units: Literal["minutes", "hours", "days"] | None = None

    @field_validator("until", mode="before")
    @classmethod
    def _has_a_zone(cls, until: object) -> object:
        """Only RFC 3339 with a zone: a number would be taken for a Unix time."""
        if until is None or isinstance(until, datetime):
            return until
        if not isinstance(until, str):
            raise ValueError("is no RFC 3339 time")  # noqa: TRY004  # pydantic reports a ValueError by its field
        try:
            return parse_time(until, "until")
        except Invalid as refusal:
            raise ValueError(refusal.reason.partition(": ")[2]) from None

    @model_validator(mode="after")
    def _says_when(self) -> Self:
        by_time, by_amount = self.until is not None, self.amount is not None or self.units is not None
        if by_time == by_amount:
            raise ValueError("give either until, or amount and units")
        if by_amount and (self.amount is None or self.units is None):
            raise ValueError("amount and units go together")
        if self._delay() > A_YEAR:
            raise ValueError("amount is more than a year")
        return self

    def wakes_at(self, now: datetime) -> datetime:
        """When the message comes back, for a snooze that begins now; raises `Invalid`."""
        if self.until is None:
            return now + self._delay()
        if self.until <= now:
            raise Invalid("until", "is in the past")
        if self.until - now > A_YEAR:
            raise Invalid("until", "is more than a year ahead")
        return self.until

    def _delay(self) -> timedelta:
        if self.amount is None or self.units is None:
            return timedelta(0)
        try:
            return timedelta(**{self.units: self.amount})
        except OverflowError:
            return timedelta.max
