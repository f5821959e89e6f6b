"""Readable text out of an HTML mail, in one linear pass.

The standard library's `html.parser` is not used: in Python 3.11 it raises AssertionError on "<![<" and takes
quadratic time over unfinished markup, so one message of half a megabyte could hold a worker for minutes.
"""

import html
import re
from dataclasses import dataclass, field

from domain.mail.parsing.limits import DEEPEST_QUOTE, LONGEST_TAG

_TAG = re.compile(r"</?([a-zA-Z][a-zA-Z0-9]{0,20})")
_TAG_REST = re.compile(r"(?:[^\"'>]|\"[^\"]*\"|'[^']*')*+>")
_ALTERNATIVE = re.compile(r"\balt\s*=\s*(?:\"([^\"]*)\"|'([^']*)')", re.IGNORECASE)
_RAW = frozenset({"script", "style"})
"""Their content is no text, also when they are never closed."""
_UNSEEN = _RAW | {"title", "template", "svg", "select"}
"""Not head: a browser shows the text after a head that is never closed. Not noscript and object: a reader of mail runs
no scripts and shows their content instead."""
_ENDS_RAW = r"</{0}\b|</head\b|<body\b"
_REFERENCE_ZEROS = re.compile(r"(&#[xX]?)0+(?=[0-9a-fA-F])")
_HUGE_REFERENCE = re.compile(r"&#(?:[0-9]{8,}|[xX][0-9a-fA-F]{7,});?")
"""No character has such a number; Python refuses to read one of 4,301 digits."""
_BLOCKS = re.compile(
    r"address|article|blockquote|br|center|d[dlt]|div|fieldset|footer|form|h[1-6]|header|hr|li|main|nav|[ou]l|p|pre|"
    r"section|table|tbody|tfoot|thead|tr"
)
_APART = frozenset({"p", "table", "ul", "ol", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "hr"})
_SPACES = re.compile(r"[ \t\r\n\f\v\u00a0]+")


@dataclass(slots=True)
class _Page:
    """The text as it grows: lines, each behind one "> " per blockquote around it."""

    lines: list[str] = field(default_factory=list)
    current: list[str] = field(default_factory=list)
    quoted: int = 0
    never_closed: set[str] = field(default_factory=set)
    """Elements whose end was looked for and does not come any more: nobody looks again."""

    def write(self, text: str) -> None:
        self.current.append(unescape(text))

    def end_line(self) -> None:
        line = _SPACES.sub(" ", "".join(self.current)).strip()
        self.current.clear()
        if line:
            self.lines.append("> " * min(self.quoted, DEEPEST_QUOTE) + line)

    def gap(self) -> None:
        if self.lines and self.lines[-1]:
            self.lines.append("")

    def tag(self, name: str, *, closing: bool) -> None:
        if name in {"td", "th"}:
            self.write(" ")
        if not _BLOCKS.fullmatch(name):
            return
        self.end_line()
        if name in _APART:
            self.gap()
        if name == "blockquote":
            self.quoted = max(0, self.quoted - 1) if closing else self.quoted + 1
        if name == "li" and not closing:
            self.write("- ")


def unescape(text: str) -> str:
    """Text with its character references read; one of a number that no character has is U+FFFD."""
    if "&#" in text:
        text = _HUGE_REFERENCE.sub("\ufffd", _REFERENCE_ZEROS.sub(r"\1", text))
    return html.unescape(text)


def html_to_text(markup: str) -> str:
    """The text a reader would see, a line per block, quoted blocks behind "> "; scripts and styles dropped.

    Work is linear in the length of the markup; unfinished markup ends the text.
    """
    page = _Page()
    position = 0
    while position < len(markup):
        opening = markup.find("<", position)
        if opening < 0:
            opening = len(markup)
        page.write(markup[position:opening])
        position = _take_markup(page, markup, opening)
    page.end_line()
    return "\n".join(page.lines).strip()


def _take_markup(page: _Page, markup: str, opening: int) -> int:
    """Handle what begins with "<" and return where the text goes on."""
    if markup.startswith("<!--", opening):
        return _after(markup, "-->", opening + 4)
    if markup.startswith(("<!", "<?"), opening):
        return _after(markup, ">", opening)
    match = _TAG.match(markup, opening)
    if match is None:
        page.write(markup[opening : opening + 1])
        return opening + 1
    name = match[1].lower()
    closing = markup.startswith("</", opening)
    rest = _TAG_REST.match(markup, match.end(), match.end() + LONGEST_TAG)
    following = rest.end() if rest else _after(markup, ">", match.end())
    if name in _UNSEEN - page.never_closed and not closing and not markup.startswith("/>", following - 2):
        return _after_element(page, markup, name, following)
    if name == "img":
        alternative = _ALTERNATIVE.search(markup, match.end(), following)
        page.write(f" {alternative[1] or alternative[2] or ''} " if alternative else "")
    page.tag(name, closing=closing)
    return following


def _after(markup: str, end: str, start: int) -> int:
    found = markup.find(end, start)
    return len(markup) if found < 0 else found + len(end)


def _after_element(page: _Page, markup: str, name: str, start: int) -> int:
    """Where an element has ended whose content nobody sees.

    When it is never closed, its content is text, but for scripts and styles: they end where the body begins, at last
    with the page.
    """
    ends = _ENDS_RAW.format(name) if name in _RAW else rf"</{name}\b"
    closing = re.compile(ends, re.IGNORECASE).search(markup, start)
    if closing:
        return closing.start()
    if name in _RAW:
        return len(markup)
    page.never_closed.add(name)
    return start
