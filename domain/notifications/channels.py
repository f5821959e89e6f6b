"""Channels and categories of notifications."""

import re
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from domain.jobs.failures import Invalid


class Channel(StrEnum):
    """A way to reach a person."""

    EMAIL = "email"
    SMS = "sms"
    PUSH = "push"
    INBOX = "inbox"
    """In the app: a row and a stream. It needs no address, and never waits."""


ADDRESSED = (Channel.EMAIL, Channel.SMS, Channel.PUSH)
"""Channels that reach an address of the person's."""


class Choice(StrEnum):
    """What a person wants of a category by a channel."""

    NOW = "now"
    DIGEST = "digest"
    OFF = "off"


CHOSEN_TIME = timedelta(minutes=15)
"""How long after the time that a person has chosen a reminder still rings in quiet hours. A worker's restart and the
first tries again fit into it. Whoever wanted to be reminded at 23:00 is awake at 23:15; an hour later nobody knows."""


@dataclass(frozen=True, slots=True)
class Category:
    """What a category allows."""

    name: str
    is_mutable: bool = True
    """Whether people may turn it off, or have it in a digest."""
    passes_quiet_hours: bool = False
    passes_within: timedelta | None = None
    """Only so long after its time; None: however late it is."""

    def rings_in_quiet_hours(self, late: timedelta) -> bool:
        """Whether a message that is so late may ring in quiet hours."""
        return self.passes_quiet_hours and (self.passes_within is None or late <= self.passes_within)


CATEGORIES = {
    one.name: one
    for one in (
        # A code to sign in is of no use in the morning, and who could mute it would lock themselves out.
        Category("security", is_mutable=False, passes_quiet_hours=True),
        # What an org owes a person, such as that their address has changed; the night can pass before it.
        Category("account", is_mutable=False),
        # Its time is the person's own choice; any later time is nobody's.
        Category("reminder", passes_quiet_hours=True, passes_within=CHOSEN_TIME),
    )
}
"""The categories with a meaning of their own. Any other word names one that people may mute and that waits for the
morning: a template cannot make its own category more important than its readers want."""

_NAME = re.compile(r"[a-z][a-z0-9_.-]{0,39}")


def category_of(name: str) -> Category:
    """The category of a name."""
    return CATEGORIES.get(name) or Category(name)


def check_category(field: str, name: str) -> str:
    """The name of a category; raises `Invalid`."""
    if not _NAME.fullmatch(name):
        raise Invalid(field, "must be of a-z, 0-9, _ . and -, begin with a letter and have at most 40 characters")
    return name
