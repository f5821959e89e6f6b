"""The words of a message and its attachments, as a mail client would show them (RFC 2046, RFC 2387).

Every part that is shown is read, in order; of the versions in a multipart/alternative the page, or the plain version
where the page has no words. Text that mail programs do not show is a file, whatever its version says.
"""

import re
from dataclasses import dataclass, field

from domain.mail.parsing.html_text import read_page
from domain.mail.parsing.limits import (
    LONGEST_HTML,
    LONGEST_PART,
    LONGEST_TEXT,
    MOST_ATTACHMENTS,
    MOST_TAGS,
    MOST_TEXT_PARTS,
)
from domain.mail.parsing.mail_encoding import base64_size, decode_text, decode_transfer, is_guessed, page_charset
from domain.mail.parsing.mime_parts import MimePart, leaves
from domain.mail.parsing.parsed_message import Attachment, Defect
from domain.orgs.spelling.normal_form import visible

_METHOD = re.compile(rb"(?im)^METHOD:[ \t]*([A-Z-]{1,30})[ \t\r]*$")
_CALENDAR = frozenset({"text/calendar", "application/ics"})
_SHOWN = frozenset({"text/plain", "text/html"})
_PAGES = frozenset({"text/html", "application/xhtml+xml", "text/enriched", "text/richtext", "text/x-amp-html"})
_DATA = _CALENDAR | {"text/vcard", "text/x-vcard", "text/directory", "text/css", "text/rfc822-headers"}
_PICTURE = re.compile(rb"(?i)\bdata:[\w.+/-]{0,80}[^,\s\"'<>]{0,80},\s*+(?:[!#-&(*-;=?-~]{60,}+\s*+)++")
"""A picture in the markup; no words of a reader's have so many letters without a blank."""
_LONGEST_BYTES = 2 * LONGEST_HTML


@dataclass(frozen=True, slots=True)
class MailBody:
    """What the parts held together."""

    text: str
    attachments: tuple[Attachment, ...]
    has_calendar: bool
    calendar_method: str | None


@dataclass(frozen=True, slots=True)
class _Piece:
    """The text of one part."""

    part: MimePart
    text: str
    has_words: bool = True
    """False for a page whose only text is that of its pictures."""


@dataclass(slots=True)
class _View:
    """What a reader sees of a part: words in order, and what is listed beside them."""

    pieces: list[_Piece] = field(default_factory=list)
    listed: list[MimePart] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n\n".join(piece.text for piece in self.pieces if piece.text)

    @property
    def rank(self) -> int:
        """How much of the message a reader sees in this version: a page, plain text, or pictures alone."""
        words = [piece for piece in self.pieces if piece.text and piece.has_words]
        return bool(words) + any(piece.part.content_type in _PAGES for piece in words)

    def add(self, other: "_View") -> None:
        self.pieces += other.pieces
        self.listed += other.listed


@dataclass(slots=True)
class _Reader:
    """Reads parts while there is room: a sender chooses how many there are."""

    defects: list[Defect]
    shows_any: bool
    """The mail has no part of a type that is shown, so that any text stands for plain text (RFC 2046, 4.1.4)."""
    parts_left: int = MOST_TEXT_PARTS
    markup_left: int = LONGEST_HTML
    tags_left: int = MOST_TAGS

    def view(self, part: MimePart, *, is_version: bool = False) -> _View:
        if not part.children:
            is_shown = not _is_file(part, is_version=is_version) and self._has_words(part)
            return self.shown(part) if is_shown else self._listed(part, is_version=is_version)
        if part.content_type == "multipart/alternative":
            return _best([self.view(child, is_version=True) for child in part.children])
        if part.content_type == "multipart/related":
            return self._related(part)
        view = _View()
        for child in part.children:
            view.add(self.view(child))
        return view

    def _has_words(self, part: MimePart) -> bool:
        return bool(part.children) or part.content_type in _SHOWN or (self.shows_any and _is_text(part))

    def _listed(self, part: MimePart, *, is_version: bool = False) -> _View:
        """A file. Text that its sender did not send as one is hidden from whoever does not open it."""
        if part.size and _is_text(part) and not _is_file(part, is_version=is_version):
            self.defects.append(Defect.HIDDEN_TEXT)
        return _View(listed=[part])

    def shown(self, part: MimePart) -> _View:
        if not self.parts_left:
            self.defects += [Defect.TOO_MANY_PARTS, Defect.TRUNCATED_TEXT]
            return _View(listed=[part])
        self.parts_left -= 1
        is_page = part.content_type in _PAGES
        return _View([self._page(part) if is_page else _Piece(part, visible(self._decoded(part)).strip())])

    def _related(self, part: MimePart) -> _View:
        """The root, with what it shows inside beside it, and the words of parts that it cannot refer to.

        Where the part that is named as root has no words, it is the first part with words.
        """
        start = part.parameters.get("start", "")
        named = [child for child in part.children if start and child.content_id == start]
        root = next(filter(self._has_words, [*named, *part.children]), part.children[0])
        view = self.view(root)
        for child in part.children:
            if child is not root:
                view.add(self._listed(child) if child.content_id else self.view(child))
        return view

    def _page(self, part: MimePart) -> _Piece:
        markup = self._decoded(part)
        if len(markup) > self.markup_left:
            self.defects.append(Defect.TRUNCATED_TEXT)
        markup = markup[: self.markup_left]
        page = read_page(markup, self.tags_left)
        self.markup_left -= len(markup)
        self.tags_left = max(0, self.tags_left - page.tags)
        if page.cut:
            self.defects.append(Defect.TRUNCATED_TEXT)
        if page.hidden:
            self.defects.append(Defect.HIDDEN_TEXT)
        return _Piece(part, visible(page.text).strip(), page.has_words)

    def _decoded(self, part: MimePart) -> str:
        """A part's text; only so many bytes are decoded as may be needed."""
        data, known = decode_transfer(part.body(LONGEST_PART), part.encoding)
        charset = part.parameters.get("charset", "")
        if part.content_type in _PAGES:
            data = _PICTURE.sub(b"data:,", data)
            if is_guessed(charset):
                charset = page_charset(data)
        text, charset_known = decode_text(data[:_LONGEST_BYTES], charset)
        if not known:
            self.defects.append(Defect.BAD_ENCODING)
        if not charset_known:
            self.defects.append(Defect.BAD_CHARSET)
        if part.size > LONGEST_PART or len(data) > _LONGEST_BYTES:
            self.defects.append(Defect.TRUNCATED_TEXT)
        return text


def read_body(top: MimePart, defects: list[Defect]) -> MailBody:
    """The message's words and what is attached; `defects` gets what was wrong or cut."""
    reader = _Reader(
        defects, shows_any=not any(part.content_type in _SHOWN and not _is_file(part) for part in leaves(top))
    )
    view = reader.view(top)
    if not view.text:
        named = next((part for part in view.listed if _may_be_body(part)), None)
        if named is not None:
            view.pieces += reader.shown(named).pieces
            view.listed.remove(named)
    read = [piece for piece in view.pieces if piece.text]
    attached = view.listed + [piece.part for piece in read[1:] if piece.part.filename]
    calendars = [part for part in view.listed if part.content_type in _CALENDAR]
    text = view.text
    if len(text) > LONGEST_TEXT:
        defects.append(Defect.TRUNCATED_TEXT)
    if len(attached) > MOST_ATTACHMENTS:
        defects.append(Defect.TOO_MANY_PARTS)
    attached.sort(key=lambda part: part.start)
    return MailBody(
        text[:LONGEST_TEXT],
        tuple(_attachment(part) for part in attached[:MOST_ATTACHMENTS]),
        bool(calendars),
        next(filter(None, (_calendar_method(part) for part in calendars)), None),
    )


def _may_be_body(part: MimePart) -> bool:
    """Whether a part with a file name can be what the sender wrote, when nothing else is."""
    return part.content_type in _SHOWN and part.disposition != "attachment"


def _is_text(part: MimePart) -> bool:
    """Whether a part is words, of whatever type."""
    return part.content_type not in _DATA and (part.content_type.startswith("text/") or part.content_type in _PAGES)


def _is_file(part: MimePart, *, is_version: bool = False) -> bool:
    """Whether a part is sent as a file: a version is shown whatever its name, an odd disposition is a file's.

    (RFC 2183, 2.8)
    """
    if part.disposition in {"", "inline"}:
        return bool(part.filename and part.depth and not part.disposition and not is_version)
    return True


def _best(versions: list[_View]) -> _View:
    """The version that a reader sees, with what is listed beside any."""
    worded = [version for version in reversed(versions) if version.text]
    best = max(worded, key=lambda version: version.rank, default=_View())
    return _View(best.pieces, [part for version in versions for part in version.listed])


def _attachment(part: MimePart) -> Attachment:
    size = base64_size(part.raw, part.start, part.stop) if part.encoding == "base64" else part.size
    return Attachment(part.filename, part.content_type, size)


def _calendar_method(part: MimePart) -> str | None:
    method = part.parameters.get("method", "")
    if not method:
        found = _METHOD.search(decode_transfer(part.body(LONGEST_TEXT), part.encoding)[0])
        method = found[1].decode("ascii") if found else ""
    return method.strip().upper()[:30] or None
