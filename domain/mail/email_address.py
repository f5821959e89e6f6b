"""An e-mail address that a person types: the mailbox to connect, its owner, whoever may approve."""

from domain.jobs.failures import Invalid
from domain.payloads.mail_address import writable_address


def check_address(field: str, text: str) -> str:
    """The address in lower case; raises `Invalid` with the field."""
    try:
        return writable_address(text).lower()
    except ValueError as refusal:
        raise Invalid(field, str(refusal)) from None
