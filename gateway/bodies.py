"""Request bodies of bounded size: kept up to a limit, read to their end within a second one, refused beyond it."""

from typing import Annotated

from fastapi import Depends, HTTPException, Request, status

from providers.google.push import LONGEST_BODY

LONGEST_READ = 16 * 1024 * 1024
"""Pub/Sub's largest message is 10 MB, and base64 makes that 14: whatever Pub/Sub may send must get an answer."""


async def bounded_body(request: Request) -> bytes:
    """The body, cut one byte after the longest that can be understood, so that its reader sees that it is too long.

    A body that nobody honest sends is refused with 413 before its end.
    """
    kept = bytearray()
    read = 0
    async for chunk in request.stream():
        read += len(chunk)
        if read > LONGEST_READ:
            raise HTTPException(status.HTTP_413_CONTENT_TOO_LARGE, f"at most {LONGEST_READ} bytes")
        kept += chunk[: LONGEST_BODY + 1 - len(kept)]
    return bytes(kept)


BoundedBody = Annotated[bytes, Depends(bounded_body)]
