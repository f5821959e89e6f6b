"""The header block of a message or of one of its parts, read line by line with bounds; nothing here raises."""

import re
from dataclasses import dataclass, field

from domain.mail.parsing.limits import LONGEST_HEADER, LONGEST_HEADER_BLOCK, MOST_HEADER_LINES, MOST_HEADERS
from domain.mail.parsing.mail_encoding import guess_charset, guess_text
from domain.mail.parsing.parsed_message import Defect

_LINE_END = re.compile(rb"\r\n|\n|\r")
_BLANK_LINE = re.compile(rb"(?>\r\n|\n|\r)(?>\r\n|\n|\r)")
_FIELD = re.compile(rb"([!-9;-~]{1,200})[ \t]*:")
_ENVELOPE_LINE = re.compile(rb">?From [^\r\n]*(?:\r\n|\n|\r)")
_BEFORE_MESSAGE = re.compile(rb"(?:\xef\xbb\xbf)?+(?:[ \t]*+(?:\r\n|\n|\r))*+(?=>?From |[!-9;-~]{1,200}[ \t]*:)")
"""A byte order mark and empty lines, where headers follow."""


@dataclass(frozen=True, slots=True)
class HeaderBlock:
    """Headers by lower-case name with undecoded values, in order, and where in the bytes the body starts."""

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
    """Bytes of the last field."""
    total: int = 0
    """Bytes of all fields."""
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
        room = min(LONGEST_HEADER - self.kept, LONGEST_HEADER_BLOCK - self.total)
        if Defect.TOO_MANY_HEADERS in self.defects:
            room = 0  # a line that continues a field that is not kept
        if len(piece) > room:
            self.defects[Defect.LONG_HEADER] = None
            piece = piece[:room]
        self.kept += len(piece)
        self.total += len(piece)
        if piece:
            self.fields[-1][1].append(piece.strip())

    def block(self, body_start: int) -> HeaderBlock:
        values = [b" ".join(pieces) for _, pieces in self.fields]
        charset = guess_charset(values)
        decoded = (guess_text(value, charset).strip() for value in values)
        names = (name for name, _ in self.fields)
        return HeaderBlock(tuple(zip(names, decoded, strict=True)), body_start, tuple(self.defects))


def read_headers(raw: bytes, start: int = 0, stop: int | None = None) -> HeaderBlock:
    """The headers at the start of a piece of `raw`; a line that can be no header begins the body and is noted."""
    stop = len(raw) if stop is None else stop
    before = None if start else _BEFORE_MESSAGE.match(raw)
    start = before.end() if before else start
    envelope = _ENVELOPE_LINE.match(raw, start, stop)
    position = envelope.end() if envelope else start
    collector = _Collector()
    for _ in range(MOST_HEADER_LINES):
        if position >= stop:
            return collector.block(stop)
        ending = _LINE_END.search(raw, position, stop)
        end, following = (ending.start(), ending.end()) if ending else (stop, stop)
        if end == position:
            return collector.block(following)
        # Of a line that is longer than what is kept of a header, only so much is copied.
        if not collector.take(raw[position : min(end, position + LONGEST_HEADER + 300)]):
            collector.defects[Defect.BROKEN_HEADER if collector.fields else Defect.NO_HEADERS] = None
            return collector.block(position)
        position = following
    collector.defects[Defect.LONG_HEADER] = None
    blank = _BLANK_LINE.search(raw, position, stop)
    return collector.block(blank.end() if blank else stop)
