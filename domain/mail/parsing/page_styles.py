"""What of an HTML mail no reader sees, by the attributes, the inline styles and the style sheets of the page.

Text counts as hidden only where that is certain; whatever cannot be told counts as seen. A rule is certain when it
holds for every screen, and each of its selectors is an element, class or id, or such a one in another. Any other rule
may show what it can match, and hides nothing. Which declaration wins: CSS Cascading and Inheritance 4, 6.1.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain

from domain.mail.parsing.limits import LONGEST_STYLES

Colour = tuple[int, ...] | str
Attributes = Mapping[str, str | None]
Rank = tuple[bool, bool, int, int]
"""Important, inline, the selector's specificity, and the order."""
Declared = dict[str, tuple[Rank, str]]
"""By property what wins; "?" where a rule that may hold would show what others hide."""

_NOTHING = r"\+?(?:0*\.?0*(?:px|pt|r?em|ex|ch|%|v[wh])?|1px)"
_FAR = r"-(?:(?:\d{4,}|999)(?:\.\d*)?(?:px|pt)|\d{3,}(?:\.\d*)?(?:r?em|%|v[wh]))"
_SIZES = ("width", "height", "max-width", "max-height")
_HIDING = {
    "display": re.compile("none"),
    "visibility": re.compile("hidden|collapse"),
    "opacity": re.compile(r"-[\d.]+|\+?(?:0*\.?0*%?|0*\.0[0-4]\d*|[0-4](?:\.\d*)?%)"),
    "font-size": re.compile(_NOTHING),
    "overflow": re.compile("hidden|clip"),
    "position": re.compile("absolute|fixed|relative"),
    "clip": re.compile(r"rect\((?:\s*,?\s*[01](?:px)?\b){4}\s*\)"),
    "clip-path": re.compile(r"inset\((?:100|50)%\)|circle\(0(?:px|%)?\)"),
    "transform": re.compile(rf"scale[xy]?\(\s*0(?:\.0*)?(?:\s*,[^)]*)?\)|translate[xy]?\(\s*{_FAR}(?:\s*,[^)]*)?\)"),
    **dict.fromkeys(_SIZES, re.compile(_NOTHING)),
    **dict.fromkeys(("left", "top", "text-indent", "margin-left", "margin-top"), re.compile(_FAR)),
}
"""Values by which a box, or the words in it, may be gone."""
_ROOM = r"padding.*|min-(?:width|height)"
_UNTOLD = r"all|animation.*"
"""Properties by which nothing else that is declared is certain."""
_REPAINTED = r"text-shadow|-webkit-text-stroke.*|(?:-webkit-)?background-clip|filter|mix-blend-mode"
"""Properties by which words are seen whose colour is their background's, or none."""
_LOOKED_AT = re.compile(
    rf"{'|'.join(_HIDING)}|{_ROOM}|{_UNTOLD}|{_REPAINTED}|color|background-(?:color|image)|-webkit-text-fill-color|"
    "text-decoration|white-space"
)
_HINTS = {
    "color": ("color", "", "font"),
    "text": ("color", "", "body"),
    "bgcolor": ("background-color", "", "body|table|t[dhr]|tbody|thead|tfoot"),
    "background": ("background-image", "url", ".+"),
    "size": ("font-size", "medium", ".+"),
    "hidden": ("display", "none", ".+"),
}
"""Attributes that stand for a property, below every rule; its value, or the attribute's, and the elements for which
they do (HTML standard, 15.2)."""
_BOXES = re.compile(
    "address|article|aside|blockquote|center|d[dlt]|div|footer|form|h[1-6]|header|li|main|nav|[ou]l|p|pre|section"
)
"""Elements to which a width, a height and what overflows apply; they do not to words in a line and to cells."""
_STRIKING = frozenset({"s", "strike", "del"})
"""Elements whose words are struck out (HTML standard, 15.3.4)."""
_OWN_LETTERS = frozenset({"table", "button", "input", "select", "textarea", "mark"})
"""Elements whose letters may not look as their parent's do (Quirks Mode Standard, 3.2; HTML standard, 15.5)."""

_NO_CODE = re.compile(r"/\*.*?(?:\*/|\Z)|<!--|-->|\"[^\"\n]*\"|'[^'\n]*'", re.DOTALL)
_ESCAPE = re.compile(r"\\([0-9a-fA-F]{1,6})\s?")
_BRACES = re.compile(r"[{}]|[^{}]+")
_EVERY_SCREEN = re.compile(r"\s*(?:(?:only\s+)?(?:all|screen))?\s*", re.IGNORECASE)
_ONE = r"(?:[a-z][a-z0-9]*|\*)?[.#][\w-]+|[a-z][a-z0-9]*|\*"
_CERTAIN = re.compile(rf"\s*(?:({_ONE})\s+)?({_ONE})\s*")
_TAG_NAMES = re.compile(r"(?:^|[\s>+~])[a-z]")
_LAST = re.compile(
    r"(?!@)(?:.*[\s>+~])?[a-z0-9]*([.#][\w-]+|(?<![^\s>+~])[a-z][a-z0-9]*)(?:[.#:][\w:.#-]*)?", re.DOTALL
)
"""A name that each element has that a selector matches, in what is read of selectors that are not certain."""
_MOST_DECLARED = 10_000
"""Declarations times selectors; of a page with more, nothing that is declared is certain."""
_MOST_ANCESTORS = 50
_MOST_MATCHES = 10
"""Selectors that match one element; with more, nothing about the element is certain."""
_LONGEST = 200
"""Characters of a value or a selector that are looked at."""
_FONT_SIZE = re.compile(r"(?:^|\s)((?:\d{1,9}\.?\d{0,9}|\.\d{1,9})(?:px|pt|r?em|%)?)(?=[\s/])")
_LENGTH = re.compile(r"\+?(\d{1,9}\.?\d{0,9}|\.\d{1,9})(px|pt|r?em|%|(?<=0))")
_IN_PIXELS = {"px": 1, "pt": 1.33, "rem": 16, "": 1}
_USUAL = 16
_SMALLEST = 1
"""Pixels of a letter that nobody can read."""
_DIGITS = re.compile(r"[0-9a-f]{6}|[0-9a-f]{3}")
_RGB = re.compile(r"rgba?\(\s*(\d{1,3})[\s,]+(\d{1,3})[\s,]+(\d{1,3})(?:[\s,/]+(?:1(?:\.0*)?|100%))?\s*\)")
_HSL = re.compile(r"hsla?\([^,\s]+[\s,]+[\d.]+%[\s,]+(0|100)%(?:[\s,/]+(?:1(?:\.0*)?|100%))?\s*\)")
_CLEAR = re.compile(
    r"transparent|#[0-9a-f]{3}0|#[0-9a-f]{6}00|(?:rgb|hsl)a\(\s*[\w.%]+(?:[\s,]+[\d.%]+){2}\s*[,/]\s*0*\.?0+%?\s*\)"
)
_WORDS = re.compile("aqua|blue|fuchsia|gray|green|lime|maroon|navy|olive|purple|red|silver|teal|yellow")
_NAMED = {"white": (255, 255, 255), "black": (0, 0, 0), "100": (255, 255, 255), "0": (0, 0, 0)}
_NO_CHANGE = frozenset({"inherit", "unset", "currentcolor", "transparent", "none"})
_SAME = 10
"""Steps of a colour's 256 that no eye tells apart."""


@dataclass(frozen=True, slots=True)
class Look:
    """How the text of an element looks, as its elements inherit it."""

    gone: bool = False
    """Not shown, and nothing in it can be."""
    visible: bool = True
    size: float = _USUAL
    """Pixels of a letter, about; the usual where nobody can tell."""
    colour: Colour | None = None
    """None where nobody can tell; empty where the letters are clear."""
    background: Colour | None = None
    repainted: bool = False
    keeps_lines: bool = False
    struck: bool = False
    within: frozenset[str] = frozenset()
    """The elements around, as far as rules ask for them."""

    @property
    def is_read(self) -> bool:
        """Whether a reader sees the words."""
        return self.visible and not self.gone and self.size > _SMALLEST and not self._blends

    @property
    def _blends(self) -> bool:
        letters, ground = self.colour, self.background
        if self.repainted or letters is None:
            return False
        if isinstance(letters, str) or isinstance(ground, str) or ground is None:
            return letters in ((), ground)
        return all(abs(one - other) <= _SAME for one, other in zip(letters, ground, strict=False))


USUAL_LOOK = Look(colour=_NAMED["black"], background=_NAMED["white"])


@dataclass(slots=True)
class StyleSheets:
    """The rules of a page: by the element, class or id that each is for, and by the one it has to be in."""

    rules: dict[str, dict[str, Declared]] = field(default_factory=dict)
    ancestors: set[str] = field(default_factory=set)
    count: int = 0

    def read(self, text: str, media: str) -> None:
        """Read what stands in a `style` element that is for such a medium; each rule is looked at once."""
        if len(text) > LONGEST_STYLES:
            self.count = _MOST_DECLARED + 1
            return
        for selectors, declarations, everywhere in _blocks(_plain_css(text) + "}}"):
            names = selectors.split(",")
            found = list(_declarations(declarations))
            sure = everywhere and _EVERY_SCREEN.fullmatch(media) is not None and all(map(_CERTAIN.fullmatch, names))
            for name in names if found else ():
                self.count += len(found)
                if self.count <= _MOST_DECLARED:
                    self._add(name.strip(), found, sure=sure)

    def _add(self, selector: str, found: list[tuple[str, str, bool]], *, sure: bool) -> None:
        parts = (_CERTAIN if sure else _LAST).fullmatch(selector) if len(selector) <= _LONGEST else None
        *around, key = parts.groups("") if parts else ["*"]
        ancestor = "".join(around).removeprefix("*")
        if parts is None or (len(self.ancestors) >= _MOST_ANCESTORS and ancestor not in {"", *self.ancestors}):
            ancestor, sure = "", False
        self.ancestors.update({ancestor} - {""})
        classes, tags = sum(map(selector.count, ".[:")), len(_TAG_NAMES.findall(selector))
        weight = 10_000 * selector.count("#") + 100 * classes + tags
        slot = self.rules.setdefault(key.removeprefix("*") or "*", {}).setdefault(ancestor, {})
        for place, (name, value, important) in enumerate(found):
            if sure or not _hides(name, value):
                won = ((important, False, weight, self.count + place), value if sure else "?")
                slot[name] = max(slot.get(name, won), won)

    def look(self, tag: str, attributes: Attributes, outer: Look) -> Look:
        """How an element's text looks, in an element that looks so."""
        names = [f".{name}" for name in (attributes.get("class") or "").lower().split()]
        names += [f"#{name}" for name in [(attributes.get("id") or "").lower()] if name]
        keys = {"*", tag, *names, *(tag + name for name in names)}
        slots = [
            self.rules[key][ancestor]
            for key in keys & self.rules.keys()
            for ancestor in self.rules[key].keys() & {"", *outer.within}
        ]
        inner = replace(outer, within=outer.within | keys & self.ancestors) if keys & self.ancestors else outer
        if tag in _OWN_LETTERS:
            inner = replace(inner, size=_USUAL, colour=None, background=inner.background if tag == "table" else None)
        elif tag == "a":
            inner = replace(inner, colour=None)
        styles = _styles(tag, attributes, slots[: _MOST_MATCHES + 1]) if slots or attributes or tag in _STRIKING else {}
        if self.count > _MOST_DECLARED or len(slots) > _MOST_MATCHES or _has(_UNTOLD, styles):
            return Look(gone=inner.gone, keeps_lines=inner.keeps_lines, struck=inner.struck, within=inner.within)
        return _look(tag, styles, inner) if styles else inner


def _look(tag: str, styles: Mapping[str, str], outer: Look) -> Look:
    visibility = styles.get("visibility", "inherit")
    return replace(
        outer,
        gone=outer.gone or _is_gone(tag, styles),
        visible=outer.visible if visibility == "inherit" else not _hides("visibility", visibility),
        size=_size(styles.get("font-size", "inherit"), outer.size),
        colour=_letters(styles, outer),
        background=_background(styles, outer),
        repainted=outer.repainted or _has(_REPAINTED, styles),
        struck=outer.struck or "line-through" in styles.get("text-decoration", ""),
        keeps_lines=styles["white-space"].startswith("pre") if "white-space" in styles else outer.keeps_lines,
    )


def _styles(tag: str, attributes: Attributes, slots: list[Declared]) -> dict[str, str]:
    """The value that wins for each property."""
    style = attributes.get("style")
    inline = _declarations(_plain_css(style)) if style else ()
    written = ((name, ((important, True, 0, place), value)) for place, (name, value, important) in enumerate(inline))
    found: Declared = {name: ((False, False, 0, 0), value) for name, value in _hints(tag, attributes)}
    for name, won in chain(*(slot.items() for slot in slots), written):
        found[name] = max(found.get(name, won), won)
    return {name: value for name, (_, value) in found.items()}


def _hints(tag: str, attributes: Attributes) -> Iterator[tuple[str, str]]:
    if tag in _STRIKING:
        yield "text-decoration", "line-through"
    for attribute in _HINTS.keys() & attributes.keys():
        name, fixed, elements = _HINTS[attribute]
        colour = (attributes[attribute] or "").strip().lower().removeprefix("#")
        value = fixed or (f"#{colour}" if _DIGITS.fullmatch(colour) else colour)
        if re.fullmatch(elements, tag) and not _CLEAR.fullmatch(value):
            yield name, value


def _hides(name: str, value: str) -> bool:
    return name in _HIDING and _HIDING[name].fullmatch(value) is not None


def _has(names: str, styles: Mapping[str, str]) -> bool:
    return any(re.fullmatch(names, name) for name in styles)


def _plain_css(text: str) -> str:
    """In lower case, without comments and strings, and without the escapes that a letter may be written by."""
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16) % 0x110000), _NO_CODE.sub(" ", text)).lower()


def _blocks(text: str) -> Iterator[tuple[str, str, bool]]:
    """Each rule's selectors and declarations, and whether it holds for every screen and every element they match."""
    opened = [("", True, True)]
    before = ""
    for piece in _BRACES.finditer(text):
        if piece[0] == "{":
            *others, selectors = (part.strip() for part in before.split(";"))
            around, _, everywhere = opened[-1]
            if around and any(others):
                yield around, before, False
            sure = everywhere and all(other.startswith("@") for other in others)
            is_medium = selectors.startswith("@media") and _EVERY_SCREEN.fullmatch(selectors[6:]) is not None
            opened.append((selectors, sure, sure and is_medium))
        elif piece[0] == "}" and len(opened) > 1:
            selectors, sure, _ = opened.pop()
            if before:
                yield selectors, before, sure
        elif piece[0] == "}":  # a browser passes over the rule that follows
            opened = [("", True, False)]
        before = "" if piece[0] in "{}" else piece[0]


def _declarations(text: str) -> Iterator[tuple[str, str, bool]]:
    """The properties that are looked at, each with its value and whether it is important."""
    for one in text.split(";"):
        name, _, whole = one.partition(":")
        value, mark, importance = (part.strip() for part in whole.partition("!"))
        name = name.strip()
        if name == "font":
            size = _FONT_SIZE.search(value)
            name, value = "font-size", size[1] if size else "inherit" if value == "inherit" else "medium"
        name = name.removesuffix("-line")
        if name == "background":
            name = "background-color"
        if value and importance in {"", "important"} and bool(mark) == bool(importance) and _LOOKED_AT.fullmatch(name):
            yield name, value if len(value) <= _LONGEST else "?", bool(mark)


def _is_gone(tag: str, styles: Mapping[str, str]) -> bool:
    hides = {name for name, value in styles.items() if _hides(name, value)}
    if hides & {"display", "opacity"} or ("position" in hides and hides & {"left", "top"}):
        return True
    is_out = styles.get("position") in {"absolute", "fixed"}
    display = styles.get("display", "block" if _BOXES.fullmatch(tag) else "inline")
    has_room = any(value.strip("0px. ") for name, value in styles.items() if re.fullmatch(_ROOM, name))
    if has_room or not (is_out or display in {"block", "inline-block"}):
        return False
    moved = {"clip-path", "transform", "text-indent", "margin-left", "margin-top"} | ({"clip"} if is_out else set())
    return not hides.isdisjoint(moved) or ("overflow" in hides and not hides.isdisjoint(_SIZES))


def _size(value: str, outer: float) -> float:
    """Pixels of a letter; the usual for a word."""
    if value in {"inherit", "unset"}:
        return outer
    found = _LENGTH.fullmatch(value)
    if found is None:
        return _USUAL
    number = float(found[1])
    return number * _IN_PIXELS[found[2]] if found[2] in _IN_PIXELS else number * outer / (100 if found[2] == "%" else 1)


def _letters(styles: Mapping[str, str], outer: Look) -> Colour | None:
    filled = styles.get("-webkit-text-fill-color")
    if filled is not None:
        return () if _CLEAR.fullmatch(filled) else None
    named = styles.get("color", "inherit")
    return outer.colour if named in _NO_CHANGE - {"transparent"} else _colour(named)


def _background(styles: Mapping[str, str], outer: Look) -> Colour | None:
    named = styles.get("background-color", "none")
    if styles.get("background-image", "none") != "none":
        return None
    if named in _NO_CHANGE or _CLEAR.fullmatch(named):
        lies_elsewhere = not {"position", "transform", "margin-left", "margin-top"}.isdisjoint(styles)
        return None if lies_elsewhere else outer.background
    return _colour(named)


def _colour(named: str) -> Colour | None:
    """Red, green and blue, or a word; empty for what is clear, None for what nobody can tell."""
    if _CLEAR.fullmatch(named):
        return ()
    digits = named[1:]
    if named.startswith("#") and _DIGITS.fullmatch(digits):
        return tuple(bytes.fromhex(digits if len(digits) > 3 else "".join(digit * 2 for digit in digits)))  # noqa: PLR2004  # the short form has three digits
    if found := _RGB.fullmatch(named):
        return tuple(int(one) for one in found.groups())
    found = _HSL.fullmatch(named)
    named = found[1] if found else named
    return _NAMED.get(named, named if _WORDS.fullmatch(named) else None)
