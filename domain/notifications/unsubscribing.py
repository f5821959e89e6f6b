"""Links by which a person stops e-mail about a category (RFC 8058, section 3).

A link names the person, not the address: it is good after the address was removed, too.
"""

from dataclasses import dataclass
from urllib.parse import quote
from uuid import UUID

from domain.orgs.access.signed_links import SignedLink


@dataclass(frozen=True, slots=True)
class UnsubscribeLink(SignedLink):
    """Whose e-mail about what is to stop."""

    user_id: UUID
    category: str

    @property
    def target(self) -> str:
        """`/u/{user_id}`."""
        return f"/u/{self.user_id}?category={quote(self.category, safe='')}"
