"""An e-mail address that a person types: the mailbox to connect, its owner, whoever may approve."""

import re

from domain.jobs.failures import Invalid

LONGEST_ADDRESS = 320
"""Characters: 64 before the at-sign, 255 after it (RFC 3696)."""
_ADDRESS = re.compile(r"[^@\s\x00-\x1f\x7f]+@[^@\s\x00-\x1f\x7f]+")


def check_address(field: str, text: str) -> str:
    """The address in lower case; raises `Invalid` with the field."""
    found = text.strip().lower()
    if len(found) > LONGEST_ADDRESS or not _ADDRESS.fullmatch(found):
        raise Invalid(field, "is no address, such as anna@example.org")
    return found
