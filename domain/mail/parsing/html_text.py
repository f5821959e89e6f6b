"""The text of an HTML mail as a reader sees it, out of the tree that a browser would build."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise

from selectolax.lexbor import LexborHTMLParser, LexborNode

from domain.mail.parsing.limits import DEEPEST, DEEPEST_ELEMENT, DEEPEST_QUOTE, MOST_ATTRIBUTES, MOST_TAGS
from domain.mail.parsing.page_styles import USUAL_LOOK, Look, StyleSheets
from domain.orgs.spelling.normal_form import visible

_TAG = re.compile(r"<(/?)([a-zA-Z][^\s/>]{0,20})")
_NEVER_OPEN = re.compile(
    r"area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr|"
    r"body|colgroup|d[dt]|head|html|li|opt(?:group|ion)|p|r[bpt]|rtc|tbody|td|tfoot|th|thead|tr|"
    r"a|b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u"
)
"""Elements that have no end, that end where the next of their kind begins, or of which `_bounded` keeps few."""
_OF_LETTERS = frozenset({"iframe", "noembed", "noframes", "script", "style", "textarea", "title", "xmp"})
"""Elements in which there are no others, but in SVG: no more than `DEEPEST` are open at once."""
_CROWDED = re.compile(
    r"<[a-zA-Z][^\s/>]*+(?:[\s/]*+=?[^\s/>=]++(?:\s*+=\s*+(?:\"[^\"]*+\"|'[^']*+'|[^\s>\"'][^\s>]*+)?+)?+)"
    rf"{{{MOST_ATTRIBUTES}}}"
)
"""A tag with so many attributes."""
_FORMATTING = re.compile(r"<(?:b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u)(?=[\s/>])", re.IGNORECASE)
"""Elements that a browser opens anew in each paragraph that follows, so that a tree has up to as many nodes as there
are tags for each of them. Only one `a` is open at a time."""
_MOST_NODES = 150_000
"""Of these elements; so many take a second of CPU."""
_EMPTY = "embed"
"""An element that is empty in SVG, too, where `wbr` would hold what follows."""
_NO_TEXT = frozenset({"script", "style", "title", "svg", "iframe", "noembed", "noframes"})
"""Their content is no text of the page."""
_BLOCKS = re.compile(
    r"address|article|aside|blockquote|body|br|caption|center|d[dlt]|details|div|fieldset|figcaption|figure|footer|form|"
    r"h[1-6]|header|hr|legend|li|listing|main|nav|[ou]l|opt(?:group|ion)|p|plaintext|pre|section|summary|table|tbody|tfoot|thead|tr|xmp"
)
_APART = frozenset({"p", "table", "ul", "ol", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "hr"})
_KEEPS_LINES = frozenset({"pre", "listing", "plaintext", "textarea", "xmp"})
_SPACES = re.compile(r"[ \t\r\n\f\v\u00a0]+")
_WORDS_OF_LINE = re.compile(r"\S(?:[^\n]*\S)?")
_STRUCK = "[struck out: "
"""Before words that the sender took back."""
_STRUCK_ON = re.compile(rf"\]( ?){re.escape(_STRUCK)}")
_BLANK = " \t\r\n\f\v\u00a0\u00ad\u034f\u200b\u200c\u200d\u2060\ufeff"
_MAY_BE_DARK = re.compile(r"color-scheme|<link\b", re.IGNORECASE)
"""Pages with these may be shown in other colours than black on white (CSS Color Adjustment 1, 2.1)."""
_NO_ATTRIBUTES: Mapping[str, str | None] = {}


@dataclass(frozen=True, slots=True)
class PageText:
    """What a reader sees of a page, and how many letters are in it that no reader sees."""

    text: str
    hidden: int
    has_words: bool
    """There are words beside those of pictures."""
    tags: int
    cut: bool
    """There are more tags or attributes than were read, or they lie deeper."""


@dataclass(slots=True)
class _Lines:
    """The text as it grows: lines, each behind one "> " per blockquote around it."""

    lines: list[str] = field(default_factory=list)
    current: list[str] = field(default_factory=list)
    as_written: bool = False
    """Something in the current line keeps its blanks."""
    quoted: int = 0
    hidden: int = 0
    has_words: bool = False

    def write(self, text: str, look: Look) -> None:
        if look.struck:
            lines = text if look.keeps_lines else _SPACES.sub(" ", text)
            text = _WORDS_OF_LINE.sub(lambda words: f"{_STRUCK}{words[0]}]", lines)
        if not look.is_read:
            self.hidden += len("".join(text.split()))
        elif look.keeps_lines:
            first, *following = (visible(text) if "\n\n\n\n" in text else text).split("\n")
            self.current.append(first)
            for line in following:
                self.end_line(keep=True)
                self.current.append(line)
            self.as_written = True
        else:
            self.current.append(text)

    def end_line(self, *, keep: bool = False) -> None:
        if not self.current and not keep:
            self.as_written = False
            return
        line = _STRUCK_ON.sub(r"\1", "".join(self.current))
        line = line.rstrip() if self.as_written else _SPACES.sub(" ", line).strip()
        self.current.clear()
        self.as_written = keep
        if line or keep:
            self.lines.append("> " * min(self.quoted, DEEPEST_QUOTE) + line)

    def gap(self) -> None:
        if self.lines and self.lines[-1]:
            self.lines.append("")

    def tag(self, name: str, look: Look, *, closing: bool) -> None:
        """The layout that an element's beginning or end asks for."""
        if name in {"td", "th"}:
            self.current.append(" ")
        if not _BLOCKS.fullmatch(name) or (closing and name == "br"):
            return
        if name in _APART or (name == "br" and not "".join(self.current).strip()):
            self.end_line()
            self.gap()
        self.end_line()
        if name == "blockquote":
            self.quoted += -1 if closing else 1
        if name == "li" and not closing:
            self.write("- ", replace(look, struck=False))


def html_to_text(markup: str) -> str:
    """The text a reader would see, a line per block, quoted blocks behind "> "."""
    return read_page(markup).text


def read_page(markup: str, most_tags: int = MOST_TAGS) -> PageText:
    """The text a reader would see, and what else is in the page; work is bounded by the markup and its tags."""
    tags = [tag.start() for tag in islice(_TAG.finditer(markup), most_tags + 1)]
    end = tags.pop() if len(tags) > most_tags else len(markup)
    # From tag to tag: what looks like another tag in a value ends the look, and such tags are few.
    end = next((tag for tag, following in pairwise([*tags, end]) if _CROWDED.match(markup, tag, following)), end)
    read = markup[:end]
    flat = _flattened(read) if len(tags) > DEEPEST_ELEMENT else read
    tree = LexborHTMLParser(_bounded(flat, len(tags)), scripting=False)
    sheets = StyleSheets()
    for style in tree.css("style"):
        sheets.read(style.text(), style.attributes.get("media") or "")
    lines = _Lines()
    _walk(tree.root, Look() if _MAY_BE_DARK.search(markup) else USUAL_LOOK, sheets, lines)
    lines.end_line()
    return PageText("\n".join(lines.lines).strip("\n"), lines.hidden, lines.has_words, len(tags), flat != markup)


def _flattened(markup: str) -> str:
    """The page without the tags of elements that could lie too deep; their words stay, as in Chromium's tree.

    How deep an element is, is counted by the names that are open, at most: comments and scripts count, too. A browser
    opens at most five for each of them: a table with its body, row and cell, in which the end of what is around the
    table means nothing.
    """
    opened, beyond, depth = Counter[str](), Counter[str](), 0

    def flat(tag: re.Match[str]) -> str:
        nonlocal depth
        name, step = tag[2].lower(), -1 if tag[1] else 1
        is_cell = bool(beyond["table"]) and name in {"tr", "td", "th"}
        if _NEVER_OPEN.fullmatch(name) and not is_cell:
            return tag[0]
        is_full = opened[name] >= DEEPEST if name in _OF_LETTERS else depth >= DEEPEST_ELEMENT
        if beyond[name] if tag[1] else is_full:
            beyond[name] += step
            # The end of either has no attributes, which cost work; that of `br` makes one. Each `li` has its own line.
            is_line = is_cell or (_BLOCKS.fullmatch(name) and name not in {"ul", "ol"})
            return "</br" if is_line and not tag[1] else f"</{_EMPTY}"
        if opened[name] + step >= 0:
            opened[name], depth = opened[name] + step, depth + step
        return tag[0]

    return _TAG.sub(flat, markup)


def _bounded(markup: str, tags: int) -> str:
    """Only so many formatting elements that the tree stays small; those after them become empty ones."""
    most = _MOST_NODES // max(tags, 1)
    beyond = next(islice(_FORMATTING.finditer(markup), most, None), None)
    return (
        markup if beyond is None else markup[: beyond.start()] + _FORMATTING.sub(f"<{_EMPTY}", markup[beyond.start() :])
    )


def _walk(node: LexborNode | None, look: Look, sheets: StyleSheets, lines: _Lines) -> None:
    """Through the tree without recursion, whatever its depth."""
    around: list[tuple[LexborNode, str, Look, Look]] = []
    while node is not None:
        name = node.tag or ""
        if name == "-text":
            text = node.text_content or ""
            lines.has_words = lines.has_words or (look.is_read and bool(text.strip(_BLANK)))
            lines.write(text, look)
        elif name and name[0] != "-":
            inner = _enter(node, name, look, sheets, lines)
            child = None if name in _NO_TEXT else node.first_child
            if child is not None:
                around.append((node, name, look, inner))
                node, look = child, inner
                continue
            _leave(name, inner, lines)
        following = node.next
        while following is None and around:
            node, name, look, inner = around.pop()
            _leave(name, inner, lines)
            following = node.next
        node = following


def _enter(node: LexborNode, name: str, outer: Look, sheets: StyleSheets, lines: _Lines) -> Look:
    attributes = node.attributes or _NO_ATTRIBUTES
    if name == "dialog" and "open" not in attributes:
        attributes = {**attributes, "hidden": ""}
    look = sheets.look(name, attributes, outer)
    lines.hidden += bool(name == "template" and node.template_fragments())
    if name in _KEEPS_LINES:
        look = replace(look, keeps_lines=True)
    if not look.gone:
        lines.tag(name, look, closing=False)
    if name == "img" and attributes.get("alt"):
        shown = not {"0", "1"} & {attributes.get("width"), attributes.get("height")}
        lines.write(f" {attributes['alt']} ", look if shown else replace(look, gone=True))
    return look


def _leave(name: str, look: Look, lines: _Lines) -> None:
    if not look.gone:
        lines.tag(name, look, closing=True)
