"""Readable text out of an HTML mail, in one linear pass.

The standard library's `html.parser` is not used: in Python 3.11 it raises AssertionError on "<![<" and takes
quadratic time over unfinished markup, so one message of half a megabyte could hold a worker for minutes.
"""

import html
import re
from dataclasses import dataclass, field

_TAG = re.compile(r"</?([a-zA-Z][a-zA-Z0-9]{0,20})")
_TAG_REST = re.compile(r"(?:[^\"'>]|\"[^\"]*\"|'[^']*')*+>")
_ALTERNATIVE = re.compile(r"\balt\s*=\s*(?:\"([^\"]*)\"|'([^']*)')", re.IGNORECASE)
_LONGEST_TAG = 1_000
"""Beyond it a quote is taken for a typing error; it also bounds the work that unbalanced quotes can cause."""
_UNSEEN = frozenset({"script", "style", "head", "title", "template", "noscript", "svg", "object", "select"})
_BLOCKS = re.compile(
    r"address|article|blockquote|br|center|d[dlt]|div|fieldset|footer|form|h[1-6]|header|hr|li|main|nav|[ou]l|p|pre|"
    r"section|table|tbody|tfoot|thead|tr"
)
_APART = frozenset({"p", "table", "ul", "ol", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "hr"})
_SPACES = re.compile(r"[ \t\r\n\f\v\u00a0]+")
_DEEPEST_QUOTE = 10


@dataclass(slots=True)
class _Page:
    """The text as it grows: lines, each behind one "> " per blockquote around it."""

    lines: list[str] = field(default_factory=list)
    current: list[str] = field(default_factory=list)
    quoted: int = 0

    def write(self, text: str) -> None:
        self.current.append(html.unescape(text))

    def end_line(self) -> None:
        line = _SPACES.sub(" ", "".join(self.current)).strip()
        self.current.clear()
        if line:
            self.lines.append("> " * min(self.quoted, _DEEPEST_QUOTE) + line)

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
    rest = _TAG_REST.match(markup, match.end(), match.end() + _LONGEST_TAG)
    following = rest.end() if rest else _after(markup, ">", match.end())
    if name in _UNSEEN and not closing and not markup.startswith("/>", following - 2):
        return _after_element(markup, name, following)
    if name == "img":
        alternative = _ALTERNATIVE.search(markup, match.end(), following)
        page.write(f" {alternative[1] or alternative[2] or ''} " if alternative else "")
    page.tag(name, closing=closing)
    return following


def _after(markup: str, end: str, start: int) -> int:
    found = markup.find(end, start)
    return len(markup) if found < 0 else found + len(end)


def _after_element(markup: str, name: str, start: int) -> int:
    """Where an element whose content nobody sees has ended; a head that is never closed ends where the body begins."""
    ends = rf"</{name}\b|<body\b" if name == "head" else rf"</{name}\b"
    closing = re.compile(ends, re.IGNORECASE).search(markup, start)
    return closing.start() if closing else len(markup)
