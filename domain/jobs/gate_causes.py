"""Why a gate is closed: each cause closes and opens its own."""

from enum import StrEnum


class Cause(StrEnum):
    """What closed a gate; gates of one scope and key and several causes stand side by side."""

    PAUSE = "pause"
    """A person wants it so."""
    SLOW_DOWN = "slow_down"
    """A provider, or the count of the calls to it, says to wait."""
    CONSENT = "consent"
    """The account's owner has to connect it again, or somebody has to set an org's credentials anew."""
    BUDGET = "budget"
    """The org has no money left for the provider."""
    MOVE = "move"
    """The org is on its way to another cell."""
