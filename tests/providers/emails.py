"""Mails to send, with a default for every field that does not matter."""

from typing import Any

from domain.payloads.mail_address import Address
from providers.ports.email import EmailAttachment, OutgoingEmail

SENDER = Address("The Example Desk", "desk@example.com")
ADA = Address("Ada Lovelace", "ada@example.org")


def make_email(**given: Any) -> OutgoingEmail:  # noqa: ANN401 - any field's value
    """A mail of the desk's to Ada."""
    fields: dict[str, Any] = {
        "reference": "email-1",
        "sender": SENDER,
        "to": (ADA,),
        "subject": "Your order",
        "text": "Hello Ada,\nit is on its way.\n",
    }
    return OutgoingEmail(**(fields | given))


def make_file(name: str = "plan.pdf", size: int = 10, content_type: str = "application/pdf") -> EmailAttachment:
    """A file whose bytes differ everywhere, so that a part in a wrong place is seen."""
    block = bytes(range(256)) + name.encode()
    data = (block * (size // len(block) + 1))[:size]
    return EmailAttachment(name, content_type, size, lambda: data)
