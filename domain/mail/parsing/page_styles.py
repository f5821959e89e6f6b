"""What of an HTML mail no reader sees, by attributes, inline styles, and the style sheets of the page.

The cascade is read as far as mailers use it: sheets that hold for every screen, selectors of one element, class or id,
and inline styles over them. What cannot be told from that counts as seen.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

Colour = tuple[int, ...]
Styles = Mapping[str, str]
Attributes = Mapping[str, str | None]

_PROPERTIES = re.compile(
    r"display|visibility|opacity|font|font-size|mso-hide|overflow|position|left|right|top|bottom|(?:max-)?(?:width|height)|"
    r"text-indent|margin-left|margin-top|clip|clip-path|transform|color|background|background-color|white-space|"
    r"content-visibility|text-decoration(?:-line)?"
)
SEEN_BY = frozenset(
    {"style", "class", "id", "hidden", "color", "bgcolor", "background", "text", "size", "width", "height", "href"}
)
"""Attributes that say how an element looks."""
STRIKING = frozenset({"s", "strike", "del"})
"""Elements whose words are struck out (HTML standard, 15.3.4)."""
_CSS_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)|<!--|-->", re.DOTALL)
_ESCAPE = re.compile(r"\\([0-9a-fA-F]{1,6})\s?")
_BRACES = re.compile(r"[{}]|[^{}]+")
_ANY_SCREEN = re.compile(r"@media\s+(?:only\s+)?(?:all|screen)(?:\s*,[^(]*)?\s*")
_SIMPLE = re.compile(r"[a-z][a-z0-9]*|(?:[a-z][a-z0-9]*)?[.#][\w-]+")
_LENGTH = re.compile(r"([+-]?(?:\d{1,9}\.?\d{0,9}|\.\d{1,9}))\s*(px|pt|r?em|ex|%|v[wh])?")
_IN_PIXELS = {"": 1, "px": 1, "pt": 1.33, "em": 16, "rem": 16, "ex": 8, "vw": 10, "vh": 10, "%": 10}
_FONT_SIZE = re.compile(r"(?:^|\s)((?:\d{1,9}\.?\d{0,9}|\.\d{1,9})(?:px|pt|r?em|%)?)(?=[\s/])")
_CLIPPED = re.compile(
    r"rect\(\s*(?:0|1px)\w*[ ,]+(?:0|1px)\w*[ ,]+(?:0|1px)\w*[ ,]+(?:0|1px)|inset\((?:100|50)%|circle\(0"
)
_SHRUNK = re.compile(r"scale[xy]?\(\s*0(?:\.0*)?[\s,)]|translate[xy3d]*\(\s*-\s*\d{3,}")
_HEX = re.compile(r"(?:#|^)([0-9a-f]{6}|[0-9a-f]{3})(?![0-9a-f])")
_RGB = re.compile(r"rgba?\(\s*(\d{1,3})[\s,]+(\d{1,3})[\s,]+(\d{1,3})(?:[\s,/]+(0?\.?\d{1,9}%?))?\s*\)")
_NAMED = re.compile(r"(?<![\w-])(white|black|transparent)(?![\w-])")
_WHITE, _BLACK, _LINK = (255, 255, 255), (0, 0, 0), (0, 0, 238)
_OFF_SCREEN = -400
"""Pixels: further than any layout moves what is to be seen."""
_SMALLEST = 1
"""Pixels of a letter that nobody can read."""
_SAME = 10
"""Steps of a colour's 256 that no eye tells apart."""


@dataclass(frozen=True, slots=True)
class Look:
    """How the text of an element looks, as its elements inherit it."""

    gone: bool = False
    """Not shown, and nothing in it can be."""
    visible: bool = True
    tiny: bool = False
    colour: Colour | None = _BLACK
    """None where nobody can tell."""
    background: Colour | None = _WHITE
    keeps_lines: bool = False
    struck: bool = False

    @property
    def is_read(self) -> bool:
        """Whether a reader sees the words."""
        return self.visible and not self.gone and not self.tiny and not self._blends

    @property
    def _blends(self) -> bool:
        if self.colour == ():
            return True
        if self.colour is None or not self.background:
            return False
        return all(abs(one - other) <= _SAME for one, other in zip(self.colour, self.background, strict=True))


@dataclass(slots=True)
class StyleSheets:
    """The rules of a page by selector, such as `td`, `.note` or `td.note`."""

    rules: dict[str, Styles] = field(default_factory=dict)
    unclear: bool = False
    """A rule whose elements nobody looks for has a background, so that the page's own is not known."""

    @classmethod
    def read(cls, text: str) -> "StyleSheets":
        """Read what stands in the `style` elements; each rule is looked at once."""
        sheets = cls()
        for selectors, declared, everywhere in _blocks(_plain_css(text)):
            styles = _read_styles(declared)
            for selector in selectors.split(","):
                name = selector.strip()
                if everywhere and _SIMPLE.fullmatch(name):
                    sheets.rules[name] = {**sheets.rules[name], **styles} if name in sheets.rules else styles
                elif "background" in styles or "background-color" in styles:
                    sheets.unclear = True
        return sheets

    def styles_of(self, tag: str, attributes: Attributes) -> Styles:
        """What the page declares for an element."""
        found: dict[str, str] = {}
        if self.rules:
            marks = [f".{name}" for name in (attributes.get("class") or "").lower().split()]
            marks += [f"#{name}" for name in [(attributes.get("id") or "").lower()] if name]
            for selector in (tag, *(kind for mark in marks for kind in (mark, tag + mark))):
                found.update(self.rules.get(selector, {}))
        found.update(_read_styles(_plain_css(attributes.get("style") or "")))
        return found

    def look(self, tag: str, attributes: Attributes, outer: Look) -> Look:
        """How an element's text looks, in an element that looks so."""
        styles = self.styles_of(tag, attributes)
        return replace(
            outer,
            gone=outer.gone or "hidden" in attributes or _is_gone(styles, attributes),
            visible=styles.get("visibility", "visible" if outer.visible else "hidden") not in {"hidden", "collapse"},
            tiny=_is_tiny(styles, attributes, tiny=outer.tiny),
            colour=_text_colour(tag, styles, attributes, outer),
            background=_background(styles, attributes, outer),
            struck=outer.struck or _is_struck(tag, styles),
            keeps_lines=styles["white-space"].startswith("pre") if "white-space" in styles else outer.keeps_lines,
        )


def _plain_css(text: str) -> str:
    """In lower case, without comments, and without the escapes that a letter may be written by."""
    plain = _CSS_COMMENT.sub(" ", text) if "/*" in text or "<!" in text else text
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16) % 0x110000), plain).lower()


def _blocks(text: str) -> list[tuple[str, str, bool]]:
    """Each rule's selectors and declarations, and whether it holds for every screen."""
    found: list[tuple[str, str, bool]] = []
    opened: list[bool] = []
    selectors = before = ""
    for piece in _BRACES.finditer(text):
        if piece[0] == "{":
            selectors = before.rpartition(";")[2].strip()
            opened.append(not selectors.startswith("@") or bool(_ANY_SCREEN.fullmatch(selectors)))
        elif piece[0] == "}":
            if opened and before:
                found.append((selectors, before, all(opened[:20])))
            del opened[-1:]
        before = "" if piece[0] in "{}" else piece[0]
    return found


def _read_styles(declared: str) -> Styles:
    """The declarations that say whether something is seen, in lower case; later ones win."""
    pairs = (one.partition(":") for one in declared.split(";"))
    return {
        name.strip(): value.partition("!")[0].strip() for name, _, value in pairs if _PROPERTIES.fullmatch(name.strip())
    }


def _is_gone(styles: Styles, attributes: Attributes) -> bool:
    if "none" in styles.get("display", "") or "all" in styles.get("mso-hide", ""):
        return True
    if _pixels(styles.get("opacity", "1")) == 0 or styles.get("content-visibility") == "hidden":
        return True
    sizes = [styles.get(name) for name in ("width", "height", "max-width", "max-height")]
    sizes += [attributes.get("width"), attributes.get("height")]
    if styles.get("overflow") in {"hidden", "clip"} and any(_pixels(size or "") == 0 for size in sizes):
        return True
    if _CLIPPED.search(styles.get("clip", "") + styles.get("clip-path", "")) or _SHRUNK.search(
        styles.get("transform", "")
    ):
        return True
    moving = ["text-indent", "margin-left", "margin-top"]
    if styles.get("position") in {"absolute", "fixed", "relative"}:
        moving += ["left", "right", "top", "bottom"]
    return any((_pixels(styles.get(name, "")) or 0) <= _OFF_SCREEN for name in moving)


def _is_tiny(styles: Styles, attributes: Attributes, *, tiny: bool) -> bool:
    """A size in pixels counts for itself; one in parts of the outer text's is as tiny as that."""
    shorthand = _FONT_SIZE.search(styles.get("font", ""))
    size = styles.get("font-size") or (shorthand[1] if shorthand else "")
    pixels = _pixels(size)
    if pixels is None:
        return tiny and not size and not attributes.get("size")
    if pixels > _SMALLEST and (size.endswith("%") or (size.endswith("em") and not size.endswith("rem"))):
        return tiny
    return pixels <= _SMALLEST


def _is_struck(tag: str, styles: Styles) -> bool:
    """Whether a line is drawn through the words; nothing inside an element takes its line away."""
    lines = styles.get("text-decoration-line") or styles.get("text-decoration")
    return tag in STRIKING if lines is None else "line-through" in lines


def _text_colour(tag: str, styles: Styles, attributes: Attributes, outer: Look) -> Colour | None:
    named = styles.get("color") or attributes.get("color") or (attributes.get("text") if tag == "body" else "")
    if named:
        return outer.colour if named in {"inherit", "currentcolor"} else _colour(named)
    return _LINK if tag == "a" and attributes.get("href") else outer.colour


def _background(styles: Styles, attributes: Attributes, outer: Look) -> Colour | None:
    if (
        "url(" in styles.get("background", "")
        or attributes.get("background")
        or "gradient" in styles.get("background", "")
    ):
        return None
    named = styles.get("background-color") or styles.get("background") or attributes.get("bgcolor")
    if not named or named in {"none", "inherit", "initial"}:
        return outer.background
    colour = _colour(named)
    return outer.background if colour == () else colour


def _colour(named: str) -> Colour | None:
    """Red, green and blue; empty for what is transparent, None for what nobody can tell."""
    text = named.strip().lower()
    if found := _HEX.search(text):
        digits = found[1] if len(found[1]) > 3 else "".join(digit * 2 for digit in found[1])  # noqa: PLR2004  # the short form has three digits
        return tuple(bytes.fromhex(digits))
    if found := _RGB.search(text):
        return (
            () if found[4] and not float(found[4].rstrip("%") or 0) else tuple(int(one) for one in found.groups()[:3])
        )
    found = _NAMED.search(text)
    return {"white": _WHITE, "black": _BLACK, "transparent": ()}[found[1]] if found else None


def _pixels(length: str) -> float | None:
    """About how many pixels a length is; None for a word."""
    found = _LENGTH.match(length.strip())
    return float(found[1]) * _IN_PIXELS[found[2] or ""] if found else None
