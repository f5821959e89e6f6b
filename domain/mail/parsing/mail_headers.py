"""The header block of a message or of one of its parts, read line by line with bounds; nothing here raises."""

import re
from dataclasses import dataclass, field

from domain.mail.parsing.mail_encoding import guess_text
from domain.mail.parsing.parsed_message import Defect

MOST_HEADERS = 300
LONGEST_HEADER = 1_000_000
"""Bytes of one header that are looked at: ten thousand recipients still fit, a header bomb does not."""
_MOST_LINES = 50_000
_LINE_END = re.compile(rb"\r\n|\n|\r")
_BLANK_LINE = re.compile(rb"(?>\r\n|\n|\r)(?>\r\n|\n|\r)")
_FIELD = re.compile(rb"([!-9;-~]{1,200})[ \t]*:")
_ENVELOPE_LINE = re.compile(rb">?From [^\r\n]*(?:\r\n|\n|\r)")


@dataclass(frozen=True, slots=True)
class HeaderBlock:
    """Headers by lower-case name with undecoded values, in order, and where the body starts."""

    fields: tuple[tuple[str, str], ...]
    body_start: int
    defects: tuple[Defect, ...]

    def first(self, name: str) -> str:
        """The first value of a header, or nothing."""
        return next((value for key, value in self.fields if key == name), "")

    def every(self, name: str) -> tuple[str, ...]:
        """All values of a header."""
        return tuple(value for key, value in self.fields if key == name)


@dataclass(slots=True)
class _Collector:
    fields: list[tuple[str, list[bytes]]] = field(default_factory=list)
    kept: int = 0
    defects: dict[Defect, None] = field(default_factory=dict)

    def take(self, line: bytes) -> bool:
        """Add one line; False when it can be no header line, so the body has begun."""
        if line[:1] in b" \t":
            if self.fields:
                self._keep(line)
            return bool(self.fields)
        match = _FIELD.match(line)
        if match is None:
            return False
        if len(self.fields) >= MOST_HEADERS:
            self.defects[Defect.TOO_MANY_HEADERS] = None
            return True
        self.fields.append((match[1].decode("ascii").lower(), []))
        self.kept = 0
        self._keep(line[match.end() :])
        return True

    def _keep(self, piece: bytes) -> None:
        room = LONGEST_HEADER - self.kept
        if len(piece) > room or Defect.TOO_MANY_HEADERS in self.defects:
            self.defects[Defect.LONG_HEADER] = None
            piece = piece[:room] if Defect.TOO_MANY_HEADERS not in self.defects else b""
        self.kept += len(piece)
        self.fields[-1][1].append(piece.strip())

    def block(self, body_start: int) -> HeaderBlock:
        decoded = tuple((name, guess_text(b" ".join(pieces)).strip()) for name, pieces in self.fields)
        return HeaderBlock(decoded, body_start, tuple(self.defects))


def read_headers(raw: bytes) -> HeaderBlock:
    """The headers at the start of `raw`; a line that can be no header begins the body and is noted."""
    envelope = _ENVELOPE_LINE.match(raw)
    position = envelope.end() if envelope else 0
    collector = _Collector()
    for _ in range(_MOST_LINES):
        if position >= len(raw):
            return collector.block(len(raw))
        ending = _LINE_END.search(raw, position)
        end, following = (ending.start(), ending.end()) if ending else (len(raw), len(raw))
        if end == position:
            return collector.block(following)
        if not collector.take(raw[position:end]):
            collector.defects[Defect.BROKEN_HEADER if collector.fields else Defect.NO_HEADERS] = None
            return collector.block(position)
        position = following
    collector.defects[Defect.LONG_HEADER] = None
    blank = _BLANK_LINE.search(raw, position)
    return collector.block(blank.end() if blank else len(raw))
