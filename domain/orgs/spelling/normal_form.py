"""Text as a reader sees it, and as rules compare it, so that what looks the same to a reader is the same.

Compatibility forms, case, runs of blanks and line ends, characters that nobody sees, and the four Turkish forms of i
are levelled (Unicode Standard Annex 15, NFKC; Unicode Technical Report 36 on invisible characters).
"""

import re
import unicodedata
from functools import lru_cache
from typing import Literal

from domain.clean_text import clean_text

_INVISIBLE = ("\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800"
              "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff")  # fmt: skip
"""Characters that Unicode wants ignored where a reader shows text (`Default_Ignorable_Code_Point`), anchors of notes,
and the Braille letter without dots."""
_UNSEEN = re.compile(f"[{_INVISIBLE}]")
_NO_LETTERS = "\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ue000-\uf8ff\ufdd0-\ufdef\ufffe\uffff\U000f0000-\U0010ffff"
"""Controls, and letters that are private or none."""
_SHAPED = (
    "\u0600-\u061b\u061d-\u08ff\u0900-\u0dff\u1000-\u109f\u1780-\u17b3\u17b6-\u180a\u1810-\u18af\ua840-\uabff\ufb50-\ufdcf"
    "\ufe70-\ufefc\U00010a00-\U00011fff"
)
"""Scripts whose letters a joiner shapes: Arabic, Persian, those of India, Burmese, Khmer, Mongolian."""
_PICTURES = "\u00a9\u00ae\u203c\u2049\u2100-\u27ff\u2900-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
_HIDING = re.compile(
    f"[{_INVISIBLE}{_NO_LETTERS}](?<![{_SHAPED}][\u200c\u200d])(?<![{_PICTURES}]\ufe0f)"
    f"(?!(?<=[{_PICTURES}\ufe0f]\u200d)[{_PICTURES}])(?!(?<=\ufe0f)\u20e3)"
)
"""What no reader sees, except for one joiner behind a letter that it shapes, and between the pictures that it joins."""
_LINE_ENDS = re.compile("\r\n|[\r\v\f\x85\u2028\u2029]")
_MARKS = "\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
_LONG_RUN = re.compile(rf"([^\S\n]{{40}})[^\S\n]+|([{_MARKS}]{{30}})[{_MARKS}]+")
_EMPTY_LINES = re.compile(r"\n(?:[^\S\n]*+\n){3,}+")
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


def visible(text: str) -> str:
    """The text without characters that a reader cannot see; of empty lines, blanks and marks only so many on end.

    A sender could push the words out of sight of a model that is shown so many characters, or hide orders to it in
    characters that no person notices.
    """
    shown = _HIDING.sub("", _LINE_ENDS.sub("\n", clean_text(text)))
    return _EMPTY_LINES.sub("\n\n\n", _LONG_RUN.sub(r"\1\2", shown))


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
