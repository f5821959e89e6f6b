"""Text as rules compare it: the mail's and the rule's own, so that what looks the same to a reader is the same.

Compatibility forms, case, runs of blanks and line ends, characters that nobody sees, and the four Turkish forms of i
are levelled (Unicode Standard Annex 15, NFKC; Unicode Technical Report 36 on invisible characters).
"""

import re
import unicodedata
from functools import lru_cache
from typing import Literal

_UNSEEN = re.compile("[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
                     "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]")  # fmt: skip
"""Characters that Unicode wants ignored where a reader shows text (`Default_Ignorable_Code_Point`)."""
_TURKISH = {ord("\u0131"): "i", ord("\u0130"): "i"}
_DOT_OF_I = "i\u0307"
"""What the dotted capital I becomes in lower case."""
_BLANKS = re.compile(r"\s+")
_SPACES = re.compile(r"[^\S\n]+")
_LINE_END = re.compile(r" ?\n ?")
_PARAGRAPH = re.compile(r"(?: ?\n ?){2,}")
_MOST_MARKS = 30
"""Marks on a letter that are kept (Unicode Standard Annex 15, stream-safe text); no script has so many. Putting them in
order takes time that grows by the square of their number."""
_KEPT = 8
"""Texts: a message's subject and body, while many rules look at them."""


@lru_cache(_KEPT)
def normal_form(text: str) -> str:
    """The text on one line; blanks at its ends are kept as one, which a rule may ask for."""
    return _BLANKS.sub(" ", _levelled(text))


@lru_cache(_KEPT)
def searched_forms(text: str) -> tuple[str, ...]:
    """The forms in which a pattern is looked for: line by line, and with the lines of each paragraph joined.

    A mailer wraps a paragraph wherever a line is full, and a pattern may ask for lines all the same. No form joins
    paragraphs: a dot would reach over the whole mail.
    """
    lines = _LINE_END.sub("\n", _SPACES.sub(" ", _levelled(text)))
    paragraphs = "\n".join(_BLANKS.sub(" ", one) for one in _PARAGRAPH.split(lines))
    return (lines,) if paragraphs == lines else (lines, paragraphs)


def normal_pattern(pattern: str) -> str:
    """A pattern for texts in these forms: its letters levelled as theirs are, and its syntax, which is ASCII, kept."""
    if pattern.isascii():
        return pattern
    composed = normalized("NFC", pattern).replace(_DOT_OF_I, "i")
    return "".join(one if one.isascii() else re.escape(normal_form(one)) for one in composed)


def normalized(form: Literal["NFC", "NFKC"], text: str) -> str:
    """The text in a normalization form, in time that grows with its length only."""
    if text.isascii():
        return text
    kept: list[str] = []
    marks = 0
    for one in text:
        marks = marks + 1 if unicodedata.combining(one) else 0
        if marks <= _MOST_MARKS:
            kept.append(one)
    return unicodedata.normalize(form, "".join(kept))


def _levelled(text: str) -> str:
    if not text.isascii():
        seen = _UNSEEN.sub("", normalized("NFKC", _UNSEEN.sub("", text)))
        text = normalized("NFKC", seen.translate(_TURKISH).casefold()).replace(_DOT_OF_I, "i")
    return text.lower().replace("\r\n", "\n").replace("\r", "\n")
