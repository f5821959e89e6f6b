"""What providers' callbacks mean for a delivery and its address."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from domain.notifications.delivery import SUPPRESSING, DeliveryState

_WORD = re.compile(r"[A-Za-z0-9_.-]{1,60}")
_SMS_STATES: Mapping[str, DeliveryState] = {
    **dict.fromkeys(("accepted", "scheduled", "queued", "sending", "sent"), DeliveryState.HANDED_OVER),
    **dict.fromkeys(("delivered", "read"), DeliveryState.DELIVERED),
    **dict.fromkeys(("failed", "undelivered"), DeliveryState.FAILED),
}
"""Twilio's `MessageStatus` (https://www.twilio.com/docs/messaging/guides/track-outbound-message-status)."""
_EMAIL_STATES: Mapping[str, DeliveryState] = {
    "email.sent": DeliveryState.HANDED_OVER,
    "email.delivered": DeliveryState.DELIVERED,
    "email.bounced": DeliveryState.FAILED,
    "email.failed": DeliveryState.FAILED,
    "email.suppressed": DeliveryState.FAILED,
}
"""Resend's events (https://resend.com/docs/dashboard/webhooks/event-types); others change nothing."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a callback says."""

    state: DeliveryState | None
    reason: str | None = None
    suppress_for: str | None = None
    """Why the address is written to no more."""


def sms_receipt(fields: Mapping[str, str]) -> Receipt | None:
    """What Twilio says of a text; None for what it says of nothing that matters here."""
    state = _SMS_STATES.get(fields.get("MessageStatus", ""))
    if state is None:
        return None
    number = fields.get("ErrorCode", "")
    code = f"twilio.{number}" if number.isascii() and number.isdigit() and len(number) <= 6 else None  # noqa: PLR2004 - digits
    if state is not DeliveryState.FAILED:
        return Receipt(state)
    return Receipt(state, code, SUPPRESSING.get(code or ""))


class SmsReply(StrEnum):
    """What a person has answered to a text."""

    STOP = "STOP"
    START = "START"


STOP_WORDS = ("STOP", "STOPALL", "UNSUBSCRIBE", "CANCEL", "END", "QUIT", "REVOKE", "OPTOUT")
START_WORDS = ("START", "YES", "UNSTOP")
"""Twilio's own words, each alone in its message (docs: twilio.md#replies), as of 2026-11-29: REVOKE and OPTOUT came on
2025-05-14. A service's own words come with `OptOutType`."""
_REPLIES: Mapping[str, SmsReply] = {
    **dict.fromkeys(STOP_WORDS, SmsReply.STOP),
    **dict.fromkeys(START_WORDS, SmsReply.START),
}


def sms_reply(fields: Mapping[str, str]) -> SmsReply | None:
    """What a text that came in wants; None for any other text.

    A service with Advanced Opt-Out has words of its own, and says in `OptOutType` what they mean.
    """
    said = fields.get("OptOutType") or fields.get("Body", "")
    return _REPLIES.get(said.strip().upper())


def email_receipt(event: Mapping[str, Any]) -> tuple[str, Receipt] | None:
    """Which mail Resend speaks of, and what it says; None for what changes nothing."""
    kind, data = event.get("type"), event.get("data")
    email_id = data.get("email_id") if isinstance(data, dict) else None
    if not isinstance(kind, str) or not isinstance(email_id, str) or not _WORD.fullmatch(email_id):
        return None
    if kind == "email.complained":
        return email_id, Receipt(None, suppress_for="complaint")
    state = _EMAIL_STATES.get(kind)
    if state is None:
        return None
    if state is not DeliveryState.FAILED:
        return email_id, Receipt(state)
    bounce = data.get("bounce") if isinstance(data, dict) else None
    # A full mailbox takes mail again; only what the provider calls permanent is.
    is_dead = kind == "email.suppressed" or (isinstance(bounce, dict) and bounce.get("type") == "Permanent")
    return email_id, Receipt(state, f"resend.{kind}", "bounce" if is_dead else None)
