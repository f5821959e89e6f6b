"""Links by which a person decides without signing in: signed for one question and one person, stored nowhere.

A link is good while its question waits. A node of a workflow has a new question, and so new links, each time it waits.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlencode
from uuid import UUID

PURPOSE = b"decide:"
"""Signed with it, so that no signature made for something else is one of a link."""
_HEX = re.compile(r"(?:[0-9a-f]{2}){1,32}")


@dataclass(frozen=True, slots=True)
class DecisionLink:
    """Who may decide about what. It proves the person; whether the choice counts is judged as any other."""

    approval_id: UUID
    user_id: UUID

    def address(self, public_url: str, sign: Callable[[bytes], bytes]) -> str:
        """The link as browsers take it. What proves it stands in the query, which no log of requests keeps."""
        query = urlencode({"person": str(self.user_id), "sig": sign(self._message()).hex()})
        return f"{public_url}/d/{self.approval_id}?{query}"

    def is_signed_by(self, signature: str, is_signed: Callable[[bytes, bytes], bool]) -> bool:
        """Whether the signature is this link's."""
        return bool(_HEX.fullmatch(signature)) and is_signed(self._message(), bytes.fromhex(signature))

    def _message(self) -> bytes:
        return PURPOSE + self.approval_id.bytes + self.user_id.bytes
