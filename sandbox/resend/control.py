"""The Resend emulator's control API as typed methods."""

from typing import Any

from sandbox.emulator.client import EmulatorControl


class ResendControl(EmulatorControl):
    """Mails that were taken, quotas, keys, time, callbacks."""

    def emails(self) -> list[dict[str, Any]]:
        """Every mail that was taken, the oldest first; under `mail` all that is in it."""
        return list(self.get("/_control/emails")["emails"])

    def raw(self, email_id: str) -> bytes:
        """The bytes that a mail's recipients get."""
        return self.fetch("GET", f"/_control/emails/{email_id}/raw")

    def set_quotas(self, **most: int | None) -> None:
        """`per_second`, `per_day`, `per_month`; None for no limit."""
        self.post("/_control/quotas", dict(most))

    def revoke(self, *keys: str) -> None:
        """Refuse these keys from now on, and no others."""
        self.post("/_control/revoked", {"keys": list(keys)})

    def advance_clock(self, seconds: float) -> float:
        """Let time pass for keys and quotas; returns the emulator's time."""
        return float(self.post("/_control/clock", {"advance_s": seconds})["now"])

    def configure_callbacks(self, url: str, secret: str = "") -> str:
        """Where callbacks go from now on; returns the secret that signs them."""
        return str(self.post("/_control/callbacks", {"url": url, "secret": secret})["secret"])

    def send_callbacks(self, email_id: str, *types: str, **options: object) -> list[int | None]:
        """Send events of a mail now, with the options of `sandbox.resend.callbacks.CallbackOrder`; the statuses."""
        order = {"email_id": email_id, "types": list(types), **options}
        return list(self.post("/_control/callbacks/send", order)["statuses"])
