"""What each Gmail method costs in quota units, 2026; how many there are is in `domain/jobs/scheduling/limits.py`.

Source: https://developers.google.com/workspace/gmail/api/reference/quota (docs: gmail.md#quotas).
"""

from collections.abc import Mapping
from types import MappingProxyType

UNITS: Mapping[str, int] = MappingProxyType(
    {
        "gmail.users.drafts.create": 10,
        "gmail.users.drafts.delete": 10,
        "gmail.users.drafts.get": 5,
        "gmail.users.drafts.list": 5,
        "gmail.users.drafts.send": 100,
        "gmail.users.drafts.update": 15,
        "gmail.users.getProfile": 1,
        "gmail.users.history.list": 2,
        "gmail.users.labels.create": 5,
        "gmail.users.labels.list": 1,
        "gmail.users.messages.attachments.get": 20,
        "gmail.users.messages.delete": 20,
        "gmail.users.messages.get": 20,
        "gmail.users.messages.list": 5,
        "gmail.users.messages.modify": 5,
        "gmail.users.messages.trash": 20,
        "gmail.users.messages.untrash": 20,
        "gmail.users.settings.sendAs.list": 1,
        "gmail.users.stop": 50,
        "gmail.users.threads.get": 40,
        "gmail.users.threads.modify": 20,
        "gmail.users.watch": 100,
    }
)
"""Units by the method's id in the API description. Unconfirmed ones (drafts.get, .list and .delete,
messages.trash, .untrash and .delete, settings.sendAs.list, threads.modify, watch, stop) carry the highest figure
anyone reports."""

DEAREST = max(UNITS.values())


def units(method: str, table: Mapping[str, int] = UNITS) -> int:
    """What one call costs; a method that the table does not know is counted as the most expensive."""
    return table.get(method, DEAREST)
