"""The Twilio emulator's control API as typed methods."""

from typing import Any

from sandbox.emulator.client import EmulatorControl


class TwilioControl(EmulatorControl):
    """Messages that were taken, numbers, the token, time, callbacks."""

    def messages(self) -> list[dict[str, Any]]:
        """Every message that was taken, the oldest first, each with its `callback_url`."""
        return list(self.get("/_control/messages")["messages"])

    def refuse(self, number: str, reason: str) -> None:
        """Let a number take no messages: `stopped`, `landline`, `invalid_to`; an empty reason lets it."""
        self.post("/_control/numbers", {"number": number, "reason": reason})

    def hide_lists(self, count: int) -> None:
        """Let so many lists show nothing of the last five minutes."""
        self.post("/_control/lists", {"hidden": count})

    def revoke(self, *, is_revoked: bool = True) -> None:
        """Refuse the account's token, or take it again."""
        self.post("/_control/token", {"revoked": is_revoked})

    def advance_clock(self, seconds: float) -> float:
        """Let time pass; returns the emulator's time."""
        return float(self.post("/_control/clock", {"advance_s": seconds})["now"])

    def send_callbacks(self, sid: str, *statuses: str, **options: object) -> list[int | None]:
        """Post what becomes of a message, with the options of `sandbox.twilio.callbacks.CallbackOrder`."""
        return list(self.post("/_control/callbacks", {"sid": sid, "statuses": list(statuses), **options})["answers"])
