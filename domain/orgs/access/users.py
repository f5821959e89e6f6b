"""The people of an org and their roles.

Some roles may approve actions (docs: questions-and-decisions.md#who-may-approve).
"""

import re
from enum import StrEnum

from domain.jobs.failures import Invalid
from domain.jobs.scheduling.zones import zone_names

_SNOWFLAKE = re.compile(r"[1-9][0-9]{0,19}", re.ASCII)
MOST_SNOWFLAKE = 2**64 - 1


class UserRole(StrEnum):
    """What a person is to an org."""

    OWNER = "owner"
    ADMIN = "admin"
    APPROVER = "approver"
    """Decides about approvals and nothing else."""
    MEMBER = "member"


MAY_DECIDE = frozenset({UserRole.OWNER, UserRole.ADMIN, UserRole.APPROVER})
"""Who approves and denies. A member's mail is handled as these say: whoever connects a mailbox is its owner."""

MANAGE = frozenset({UserRole.OWNER, UserRole.ADMIN})
"""Who gets a message when something of the org's needs mending."""


def check_snowflake(field: str, text: str) -> str:
    """An id as Discord writes it, a whole number of 64 bits; raises `Invalid`."""
    if not _SNOWFLAKE.fullmatch(text) or int(text) > MOST_SNOWFLAKE:
        raise Invalid(field, "is no id of Discord's: turn on its developer mode and copy the id, a number")
    return text


def check_zone(text: str) -> str:
    """The name of a time zone, such as `Europe/Berlin`; raises `Invalid`."""
    if text not in zone_names():
        raise Invalid("zone", "is no time zone of the IANA database by its region, such as Europe/Berlin, nor UTC")
    return text
