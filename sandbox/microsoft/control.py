"""The Microsoft emulator's control API as typed methods."""

from typing import Any
from urllib.parse import quote

from sandbox.emulator.client import EmulatorControl


class MicrosoftControl(EmulatorControl):
    """Mailboxes, applications, tokens, uploads, time."""

    def messages(self, mailbox: str) -> list[dict[str, Any]]:
        """Drafts and sent mails, what is on its way too; under `mail` all that is in each."""
        return list(self.get(f"/_control/mailboxes/{quote(mailbox)}")["messages"])

    def drafts(self, mailbox: str) -> list[dict[str, Any]]:
        """What was not sent."""
        return [one for one in self.messages(mailbox) if one["isDraft"]]

    def sent(self, mailbox: str) -> list[dict[str, Any]]:
        """What was sent, whether Graph shows it yet or not."""
        return [one for one in self.messages(mailbox) if not one["isDraft"]]

    def raw(self, mailbox: str, message_id: str) -> bytes:
        """The bytes that a mail's recipients get."""
        path = f"/_control/mailboxes/{quote(mailbox)}/messages/{quote(message_id, safe='')}/raw"
        return self.fetch("GET", path)

    def turn(self, mailbox: str, **knobs: object) -> None:
        """Set any of `sandbox.microsoft.mailbox.Knobs`."""
        self.post(f"/_control/mailboxes/{quote(mailbox)}/knobs", dict(knobs))

    def register(self, client_id: str, *, client_secret: str = "", certificate: str = "") -> None:
        """Let an application sign in with this secret, or by this certificate, alone."""
        wish = {"client_id": client_id, "client_secret": client_secret, "certificate": certificate}
        self.post("/_control/applications", wish)

    def revoke(self, *client_ids: str) -> None:
        """Refuse these applications from now on, and no others."""
        self.post("/_control/revoked", {"client_ids": list(client_ids)})

    def expire_tokens(self) -> None:
        """Let every token expire."""
        self.post("/_control/tokens/expire", {})

    def expire_uploads(self) -> None:
        """Let every upload session expire."""
        self.post("/_control/uploads/expire", {})

    def advance_clock(self, seconds: float) -> float:
        """Let time pass for tokens, uploads and mail on its way; returns the emulator's time."""
        return float(self.post("/_control/clock", {"advance_s": seconds})["now"])
