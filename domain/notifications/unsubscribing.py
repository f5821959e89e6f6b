"""Links by which a person stops e-mail about a category: a signed token, nothing stored (RFC 8058, section 3).

A link names the person, not the address: it is good after the address was removed, too.
"""

import base64
import binascii
from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from domain.jobs.failures import Invalid
from domain.notifications.channels import check_category

SIGNATURE = 16
"""Bytes; nobody guesses one within the life of a link."""
ID = 16
PURPOSE = b"unsubscribe:"
"""Signed with it, so that no signature made for something else is one of a link."""
LONGEST_TOKEN = 200


@dataclass(frozen=True, slots=True)
class Unsubscribe:
    """Whose e-mail about what is to stop."""

    user_id: UUID
    category: str

    def token(self, sign: Callable[[bytes], bytes]) -> str:
        """What stands in the link."""
        body = self.user_id.bytes + self.category.encode()
        return base64.urlsafe_b64encode(sign(PURPOSE + body) + body).decode().rstrip("=")


def read_token(token: str, is_signed: Callable[[bytes, bytes], bool]) -> Unsubscribe | None:
    """What a link is about; None for one that nobody has signed."""
    if len(token) > LONGEST_TOKEN:
        return None
    try:
        read = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
    except (ValueError, binascii.Error):
        return None
    signature, body = read[:SIGNATURE], read[SIGNATURE:]
    if len(body) <= ID or not is_signed(PURPOSE + body, signature):
        return None
    try:
        return Unsubscribe(UUID(bytes=body[:ID]), check_category("category", body[ID:].decode()))
    except (ValueError, Invalid):
        return None
