"""Until when an approval waits, and when its people are reminded (docs: approvals.md#expiry)."""

from datetime import datetime, timedelta

EXPIRES_AFTER = timedelta(days=3)
"""The default of the setting: a weekend passes, and nothing is done to mail
that its reader has long dealt with."""

REMIND_AFTER_SHARE = 2 / 3
"""The part of the time after which there is one reminder: of three days, a day is left to see it."""


def remind_at(asked_at: datetime, expires_at: datetime) -> datetime:
    """When the one reminder is due."""
    return asked_at + (expires_at - asked_at) * REMIND_AFTER_SHARE
