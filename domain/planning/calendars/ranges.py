"""Which bytes of a file a request wants: the `Range` header (RFC 9110, section 14)."""

import re
from dataclasses import dataclass

_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})", re.ASCII)


@dataclass(frozen=True, slots=True)
class ByteRange:
    """Bytes from `start` up to `end`."""

    start: int
    end: int

    def content_range(self, size: int) -> str:
        """As `Content-Range` writes it."""
        return f"bytes {self.start}-{self.end - 1}/{size}"


def wanted_range(header: str | None, size: int) -> ByteRange | None:
    """The bytes that are wanted, None for all of them; raises `ValueError` where none of them is there.

    What is no single range is passed over, as a server may: the whole file is the right answer to it.
    """
    found = _RANGE.fullmatch(header.strip()) if header else None
    if found is None or not (found[1] or found[2]):
        return None
    if not found[1]:
        start, end = max(size - int(found[2]), 0), size
    else:
        start, end = int(found[1]), min(int(found[2]) + 1 if found[2] else size, size)
        if found[2] and int(found[2]) < int(found[1]):
            return None
    if start >= end:
        raise ValueError("there are no such bytes")
    return ByteRange(start, end)
