"""A message taken apart into its parts without recursion; nothing here raises, whatever the nesting."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from domain.mail.parsing.encoded_words import decode_words, parse_parameters
from domain.mail.parsing.header_text import bare_text
from domain.mail.parsing.limits import DEEPEST, LONGEST_FILENAME, MOST_DELIMITERS, MOST_PARTS, MOST_SCANS
from domain.mail.parsing.mail_headers import HeaderBlock, read_headers
from domain.mail.parsing.parsed_message import Defect
from domain.orgs.spelling.normal_form import visible

UNREADABLE = "text/x-unreadable"
"""Of a part whose type or boundary cannot be read. Programs differ on such parts: it is text if nothing else is."""
_MEDIA_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,63}/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f/\\]+")


_AFTER_BOUNDARY = re.compile(rb"(--)?[ \t]*+(\r\n|\n|\r|\Z)")
_LEAST_SCANNED = 1_000_000
"""Bytes that may be searched in any message: a short one is cheap however often it is searched."""


@dataclass(frozen=True, slots=True, eq=False)
class MimePart:
    """One part: its kind, and the position of its body in the message's bytes, in transfer encoding."""

    content_type: str
    parameters: dict[str, str]
    disposition: str
    filename: str
    encoding: str
    raw: bytes
    start: int
    stop: int
    depth: int
    content_id: str = ""
    children: list["MimePart"] = field(default_factory=list)
    """Filled by `open_parts`; a multipart without them could not be opened."""

    @property
    def is_multipart(self) -> bool:
        """Whether the part is made of others."""
        return self.content_type.startswith("multipart/")

    @property
    def size(self) -> int:
        """Bytes of the body as it stands."""
        return self.stop - self.start

    def body(self, most: int | None = None) -> bytes:
        """A copy of the body, or of its first bytes."""
        return self.raw[self.start : self.stop if most is None else min(self.stop, self.start + most)]


def leaves(top: MimePart) -> Iterator[MimePart]:
    """The parts that are made of no others."""
    waiting = [top]
    while waiting:
        part = waiting.pop()
        waiting.extend(part.children)
        if not part.children:
            yield part


def describe_part(block: HeaderBlock, raw: bytes, stop: int, depth: int, default: str = "text/plain") -> MimePart:
    """A part from its headers; without a type it is plain text (RFC 2045, 5.2)."""
    content_type, parameters = parse_parameters(block.first("content-type"))
    disposition, more = parse_parameters(block.first("content-disposition"))
    filename = decode_words(more.get("filename") or parameters.get("name") or "")
    return MimePart(
        content_type if _MEDIA_TYPE.fullmatch(content_type) else UNREADABLE if content_type else default,
        parameters,
        disposition,
        _short_name(visible(_CONTROLS.sub("_", filename)).strip().rstrip(". ")),
        bare_text(block.first("content-transfer-encoding")).partition(";")[0].strip().lower()[:40],
        raw,
        block.body_start,
        stop,
        depth,
        bare_text(block.first("content-id")),
    )


def _short_name(name: str) -> str:
    """A long name is cut in the middle, because its ending says what the file is."""
    if len(name) <= LONGEST_FILENAME:
        return name
    half = LONGEST_FILENAME // 2
    return f"{name[: half - 1]}\u2026{name[-half:]}"


@dataclass(slots=True)
class _Search:
    """What may still be looked at in one message, whose sender chose its boundaries and how they nest."""

    scans_left: int
    """Bytes."""
    delimiters_left: int = MOST_DELIMITERS
    defects: list[Defect] = field(default_factory=list)


def open_parts(top: MimePart) -> list[Defect]:
    """Give each multipart its parts. Too deep or too many ones stay unopened and are noted."""
    search = _Search(max(_LEAST_SCANNED, MOST_SCANS * top.size))
    waiting, leaves = [top], 0
    while waiting:
        part = waiting.pop()
        if not part.is_multipart:
            leaves += 1
            continue
        if part.depth >= DEEPEST or part.size > search.scans_left:
            search.defects.append(Defect.TOO_DEEP)
            leaves += 1
            continue
        part.children.extend(_open(part, MOST_PARTS - leaves - len(waiting), search))
        waiting.extend(reversed(part.children))
    return search.defects


def _open(part: MimePart, room: int, search: _Search) -> list[MimePart]:
    boundary = part.parameters.get("boundary", "").strip()
    bodies, closed = _split(part, boundary, room + 1, search) if boundary else ([], False)
    word = next(iter(bare_text(boundary).split()), "")
    if not bodies and word not in {"", boundary}:
        bodies, closed = _split(part, word, room + 1, search)
    if not bodies:
        search.defects.append(Defect.NO_BOUNDARY)
        return [replace(part, content_type=UNREADABLE, filename="", depth=part.depth + 1, children=[])]
    default = "message/rfc822" if part.content_type == "multipart/digest" else "text/plain"
    if len(bodies) > room:
        search.defects.append(Defect.TOO_MANY_PARTS)
    elif not closed:
        search.defects.append(Defect.UNTERMINATED)
    return [
        describe_part(read_headers(part.raw, start, stop), part.raw, stop, part.depth + 1, default)
        for start, stop in bodies[: max(0, room)]
    ]


def _split(part: MimePart, boundary: str, most: int, search: _Search) -> tuple[list[tuple[int, int]], bool]:
    """Where the bodies between the delimiter lines stand, at most `most`, and whether the closing delimiter came."""
    raw, delimiter = part.raw, b"--" + boundary.encode("utf-8", "replace")
    bodies: list[tuple[int, int]] = []
    start: int | None = None
    position = part.start
    search.scans_left -= part.size
    while (begin := raw.find(delimiter, position, part.stop)) >= 0:
        if search.delimiters_left == 0:
            search.defects.append(Defect.TOO_MANY_PARTS)
            break
        search.delimiters_left -= 1
        position = begin + len(delimiter)
        ending = _AFTER_BOUNDARY.match(raw, position, part.stop)
        if ending is None or (begin > part.start and raw[begin - 1] not in b"\r\n"):
            continue
        position = ending.end()
        if start is not None:
            bodies.append((start, _before_line_end(raw, start, begin)))
        if ending[1] or len(bodies) >= most:
            return bodies, bool(ending[1])
        start = position
    if start is not None:
        bodies.append((start, part.stop))
    return bodies, False


def _before_line_end(raw: bytes, start: int, end: int) -> int:
    """The line end before a delimiter belongs to the delimiter (RFC 2046, 5.1.1)."""
    return max(start, end - (2 if raw[end - 2 : end] == b"\r\n" else 1))
