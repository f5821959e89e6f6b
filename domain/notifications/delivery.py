"""Where a delivery stands, and which news of it count: receipts come doubled, late and in any order."""

from collections.abc import Mapping
from enum import StrEnum

from domain.notifications.plan import Reason


class DeliveryState(StrEnum):
    """Where a message to one address stands."""

    QUEUED = "queued"
    COLLECTED = "collected"
    """An item of a digest, which has a delivery of its own."""
    HANDED_OVER = "handed_over"
    """A provider has taken it."""
    DELIVERED = "delivered"
    FAILED = "failed"
    SUPPRESSED = "suppressed"
    EXPIRED = "expired"
    UNKNOWN = "unknown"
    """The provider's answer was lost; a receipt may still tell."""


_S = DeliveryState
_FOLLOWS: Mapping[DeliveryState, tuple[DeliveryState, ...]] = {
    _S.HANDED_OVER: (_S.QUEUED, _S.UNKNOWN),
    _S.DELIVERED: (_S.QUEUED, _S.HANDED_OVER, _S.UNKNOWN),
    # One of three segments of a text failed: the receipts of the others do not undo that.
    _S.FAILED: (_S.QUEUED, _S.HANDED_OVER, _S.DELIVERED, _S.UNKNOWN),
    _S.SUPPRESSED: (_S.QUEUED,),
    _S.EXPIRED: (_S.QUEUED,),
    _S.UNKNOWN: (_S.QUEUED,),
}
"""By each state, those that it may follow: `sent` after `delivered` changes nothing, nor does a second receipt."""


def state_of(reason: Reason) -> DeliveryState:
    """How a delivery has ended that is not sent."""
    return _S.EXPIRED if reason is Reason.TOO_OLD else _S.SUPPRESSED


def states_before(state: DeliveryState) -> tuple[DeliveryState, ...]:
    """The states that the news may change."""
    return _FOLLOWS.get(state, ())


SUPPRESSING: Mapping[str, str] = {
    "twilio.21610": "stop",
    "twilio.21211": "invalid",
    "twilio.21614": "invalid",
    "fcm.unregistered": "unregistered",
    "fcm.bad_token": "unregistered",
}
"""The codes that say that an address is good for nothing any more, each with the reason that its contact point keeps.

No other code does: a bare 404 of FCM may be a wrong project, a 400 a wrong message, and whoever took them for dead
devices lost living ones. Sources: https://www.twilio.com/docs/api/errors,
https://firebase.google.com/docs/reference/fcm/rest/v1/ErrorCode.
"""
