"""The head that says who calls."""

from __future__ import annotations

from collections.abc import Sequence

from postroom_client.errors import Invalid


def heads(api_key: str) -> Sequence[tuple[bytes, bytes]]:
    """The head fields of every request. White space around the key goes: a file that is mounted ends with a line.

    Raises `Invalid`, without the key: what a library says of a head that it cannot send, it says with the whole head.
    """
    key = api_key.strip()
    if not key or not all("!" <= one <= "~" for one in key):
        raise Invalid("invalid", "is empty, or carries what no key carries", field="api_key")
    return [(b"Authorization", f"Bearer {key}".encode()), (b"Content-Type", b"application/json")]
