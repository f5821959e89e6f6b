"""A message taken apart into its leaf parts without recursion; nothing here raises, whatever the nesting."""

import re
from dataclasses import dataclass

from domain.mail.parsing.encoded_words import parse_parameters
from domain.mail.parsing.mail_headers import HeaderBlock, read_headers
from domain.mail.parsing.parsed_message import Defect
from domain.text.clean_text import clean_text

DEEPEST = 20
MOST_PARTS = 500
_LONGEST_FILENAME = 200
_MEDIA_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,63}/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f/\\]+")


@dataclass(frozen=True, slots=True)
class Part:
    """One part: its kind, and its body still in transfer encoding."""

    content_type: str
    parameters: dict[str, str]
    disposition: str
    filename: str
    encoding: str
    body: bytes
    depth: int

    @property
    def is_multipart(self) -> bool:
        """Whether the part is made of others."""
        return self.content_type.startswith("multipart/")


def describe_part(block: HeaderBlock, body: bytes, depth: int, default: str = "text/plain") -> Part:
    """A part from its headers; what cannot be read is plain text, as RFC 2045 tells us."""
    content_type, parameters = parse_parameters(block.first("content-type"))
    disposition, more = parse_parameters(block.first("content-disposition"))
    filename = more.get("filename") or parameters.get("name") or ""
    return Part(
        content_type if _MEDIA_TYPE.fullmatch(content_type) else default,
        parameters,
        disposition,
        clean_text(_CONTROLS.sub("_", filename)).strip()[:_LONGEST_FILENAME],
        block.first("content-transfer-encoding").partition(";")[0].strip().lower(),
        body,
        depth,
    )


def leaf_parts(top: Part) -> tuple[list[Part], list[Defect]]:
    """The parts that hold content, in order. Too deep or too many ones stay unopened and are noted."""
    leaves: list[Part] = []
    defects: list[Defect] = []
    waiting = [top]
    while waiting:
        part = waiting.pop()
        if not part.is_multipart:
            leaves.append(part)
            continue
        if part.depth >= DEEPEST:
            defects.append(Defect.TOO_DEEP)
            leaves.append(part)
            continue
        room = MOST_PARTS - len(leaves) - len(waiting)
        children, noted = _open(part, room)
        defects.extend(noted)
        waiting.extend(reversed(children))
    return leaves, defects


def _open(part: Part, room: int) -> tuple[list[Part], list[Defect]]:
    boundary = part.parameters.get("boundary", "").strip()
    bodies, closed = _split(part.body, boundary, room + 1) if boundary else ([], False)
    if not bodies:
        plain = Part("text/plain", part.parameters, part.disposition, "", part.encoding, part.body, part.depth + 1)
        return [plain], [Defect.NO_BOUNDARY]
    default = "message/rfc822" if part.content_type == "multipart/digest" else "text/plain"
    defects = [] if closed or len(bodies) > room else [Defect.UNTERMINATED]
    if len(bodies) > room:
        defects.append(Defect.TOO_MANY_PARTS)
    children = []
    for body in bodies[: max(0, room)]:
        block = read_headers(body)
        children.append(describe_part(block, body[block.body_start :], part.depth + 1, default))
    return children, defects


def _split(body: bytes, boundary: str, most: int) -> tuple[list[bytes], bool]:
    """The bodies between the delimiter lines, at most `most`, and whether the closing delimiter was there."""
    delimiter = re.compile(re.escape(b"--" + boundary.encode("utf-8", "replace")) + rb"(--)?[ \t]*+(\r\n|\n|\r|\Z)")
    bodies: list[bytes] = []
    start: int | None = None
    for match in delimiter.finditer(body):
        begin = match.start()
        if begin and body[begin - 1 : begin] not in {b"\n", b"\r"}:
            continue
        if start is not None:
            bodies.append(body[start : _before_line_end(body, start, begin)])
        if match[1] or len(bodies) >= most:
            return bodies, bool(match[1])
        start = match.end()
    if start is not None:
        bodies.append(body[start:])
    return bodies, False


def _before_line_end(body: bytes, start: int, end: int) -> int:
    """The line end before a delimiter belongs to the delimiter (RFC 2046, 5.1.1)."""
    if body[end - 2 : end] == b"\r\n":
        return max(start, end - 2)
    return max(start, end - 1)
