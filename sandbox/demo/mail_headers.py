"""A message's header block as lines, so that headers change and every byte of the rest stays as it came."""

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Self

MBOX_LINE = re.compile(rb"\A>?From .*\r?\n")
"""The envelope line that an mbox file has before a message; it is not a header."""

HEADER_START = re.compile(rb"^(?=[!-9;-~]+[ \t]*:)", re.MULTILINE)


@dataclass(frozen=True)
class RawMessage:
    """Headers in their order, each with its folded lines, and the body; lines end in CRLF as in the protocol."""

    headers: tuple[bytes, ...]
    body: bytes

    @classmethod
    def parse(cls, raw: bytes) -> Self:
        """Split at the first empty line; the mbox line is removed, nothing else is changed."""
        block, _, body = MBOX_LINE.sub(b"", raw).replace(b"\r\n", b"\n").partition(b"\n\n")
        headers = [header.rstrip(b"\n") for header in HEADER_START.split(block) if header.strip()]
        return cls(tuple(header.replace(b"\n", b"\r\n") for header in headers), body.replace(b"\n", b"\r\n"))

    def render(self) -> bytes:
        """The whole message, ready to be delivered."""
        return b"\r\n".join((*self.headers, b"", self.body))

    def get(self, name: str) -> str:
        """The first value of a header, unfolded; empty when there is none."""
        found = next((header for header in self.headers if _name(header) == name.lower()), b":")
        return " ".join(found.partition(b":")[2].decode("latin-1").split())

    def without(self, names: Collection[str]) -> Self:
        """Without the named headers; a name that ends in `-*` means all that start like it."""
        prefixes = tuple(name[:-1] for name in names if name.endswith("-*"))
        kept = [header for header in self.headers if _name(header) not in names]
        return replace(self, headers=tuple(header for header in kept if not _name(header).startswith(prefixes or "\0")))

    def having(self, name: str, value: str) -> Self:
        """With exactly one header of this name, in the place of the first such header, else at the top."""
        line = f"{name}: {value}".encode()
        place = next((index for index, header in enumerate(self.headers) if _name(header) == name.lower()), 0)
        rest = self.without({name.lower()}).headers
        return replace(self, headers=(*rest[:place], line, *rest[place:]))


def _name(header: bytes) -> str:
    return header.partition(b":")[0].strip().decode("latin-1").lower()
