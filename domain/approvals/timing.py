"""When the people of an approval are reminded of it (docs: approvals.md#expiry)."""

REMIND_AFTER_SHARE = 2 / 3
"""The part of the time after which there is one reminder: of three days, a day is left to see it."""
