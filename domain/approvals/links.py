"""Links by which a person decides without signing in.

A link is good while its question waits. A node of a workflow has a new question, and so new links, each time it waits.
"""

from dataclasses import dataclass
from uuid import UUID

from domain.orgs.access.signed_links import SignedLink


@dataclass(frozen=True, slots=True)
class DecisionLink(SignedLink):
    """Who may decide about what. It proves the person; whether the choice counts is judged as any other."""

    approval_id: UUID
    user_id: UUID

    @property
    def target(self) -> str:
        """`/d/{approval_id}`."""
        return f"/d/{self.approval_id}?person={self.user_id}"
