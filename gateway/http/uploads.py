"""Receives a file: bounded in bytes and time while it streams, hashed on the way, kept on the disk and not in memory.

A slow client holds a slot for uploads, of which its org has a few, and neither a thread nor a slot for requests.
"""

import hashlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from tempfile import SpooledTemporaryFile

from fastapi import Request, status
from fastapi.concurrency import run_in_threadpool

from domain.jobs.failures import Invalid
from domain.planning.files.artifacts import check_unpacked
from domain.planning.files.digests import FIELD, check_digest, read_content_digest
from gateway.http.bodies import stream_body
from gateway.http.problems import RefusedPart

KEPT_IN_MEMORY = 256 * 1024
"""Bytes of a file that wait in memory before they are written to the disk together."""
HEAD = 8
UPLOAD_WITHIN_S = 28.0
"""A whole upload: the connection is given up after 30 s (`gateway.http.bounded_protocol`), and this is answered."""


@dataclass(slots=True)
class ReceivedFile:
    """The bytes that came."""

    file: "SpooledTemporaryFile[bytes]" = field(repr=False)
    size: int = 0
    sha256: str = ""

    def read(self) -> bytes:
        """All of them."""
        self.file.seek(0)
        return self.file.read()


@contextmanager
def receiving() -> Iterator[ReceivedFile]:
    """A file to receive into, which is gone afterwards."""
    with tempfile.SpooledTemporaryFile(max_size=KEPT_IN_MEMORY) as file:
        yield ReceivedFile(file)


async def receive(request: Request, into: ReceivedFile, most: int, *, within_s: float = UPLOAD_WITHIN_S) -> None:
    """Receive the body of a request.

    Raises `RefusedPart` (408, 413, 415) and `Invalid` by field; a client that leaves in the middle ends the request.
    """
    wanted = read_content_digest(request.headers.get(FIELD))
    _check_plain(request)
    _check_length(request, most)
    digest, waiting, head = hashlib.sha256(), bytearray(), b""
    async for chunk in stream_body(request, most, within_s=within_s):
        if len(head) < HEAD:
            head = (head + chunk)[:HEAD]
            check_unpacked(head)
        into.size += len(chunk)
        waiting += chunk
        if len(waiting) >= KEPT_IN_MEMORY:
            await run_in_threadpool(_write, into.file, digest, bytes(waiting))
            waiting.clear()
    await run_in_threadpool(_write, into.file, digest, bytes(waiting))
    if not into.size:
        raise Invalid("body", "is empty: a file has a byte at least")
    into.sha256 = digest.hexdigest()
    check_digest(wanted, into.sha256)


def _write(file: "SpooledTemporaryFile[bytes]", digest: "hashlib._Hash", data: bytes) -> None:
    digest.update(data)
    file.write(data)


def _check_plain(request: Request) -> None:
    """Nothing here unpacks: packed bytes would be stored as they are, and be another file than the client means."""
    encoding = request.headers.get("content-encoding", "").strip().lower()
    if encoding not in {"", "identity"}:
        raise RefusedPart(
            status.HTTP_415_UNSUPPORTED_MEDIA_TYPE,
            "unsupported_encoding",
            "send the file as it is: no Content-Encoding is unpacked here",
            {"Accept-Encoding": "identity"},
        )


def _check_length(request: Request, most: int) -> None:
    """Refuse what says itself that it is too long, before a byte of it is read."""
    length = request.headers.get("content-length", "")
    if length.isascii() and length.isdigit() and int(length[:20]) > most:
        raise RefusedPart(status.HTTP_413_CONTENT_TOO_LARGE, "too_large", f"at most {most} bytes")
