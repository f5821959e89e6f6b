"""How a text travels as SMS: its encoding, and in how many segments (3GPP TS 23.038, 6.2.1; TS 23.040, 9.2.3.24.1).

A text of the GSM alphabet has 160 septets in one segment and 153 in each of several; any other text has 70 and 67
units of UTF-16. One letter outside the alphabet so doubles what a text costs: it is written as its twin in the
alphabet where that is enough for the whole text, and otherwise stays as it is.
"""

import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from domain.notifications.cutting import cut
from domain.orgs.spelling.normal_form import normalized
from domain.orgs.spelling.typography import ASCII_TWINS

_BASIC = (
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿"
    "abcdefghijklmnopqrstuvwxyzäöñüà"
)
_EXTENDED = "\f^{}\\[~]|€"
"""Letters that take two septets: an escape, and their own."""
_OF_CATEGORY = {"Pd": "-", "Zs": " ", "Zl": "\n", "Zp": "\n", "Cc": " ", "Cf": ""}
"""Dashes, blanks, line ends, controls such as the tab, and what nobody sees."""
_SAME_MEANING = ("<wide>", "<narrow>", "<noBreak>", "<compat>")
"""Forms of a letter that mean it: not those above or below the line, for 10² is not 102."""
_VARIANTS = ("\ufe00", "\ufe0f")
_KEPT = 1_024
"""Letters whose twins are remembered."""
ELLIPSIS = "..."
"""The alphabet has no letter for it."""

GSM_ONE, GSM_SEVERAL = 160, 153
UCS_ONE, UCS_SEVERAL = 70, 67
LAST_OF_ONE_UNIT = 0xFFFF
"""The last code point that UTF-16 writes in one unit."""


@dataclass(frozen=True, slots=True)
class SmsText:
    """What a text costs."""

    encoding: Literal["GSM-7", "UCS-2"]
    units: int
    """Septets, or units of UTF-16."""
    segments: int


def measure(text: str) -> SmsText:
    """The encoding, the length and the number of segments of a text; an empty one has none."""
    if all(letter in _BASIC or letter in _EXTENDED for letter in text):
        return _counted("GSM-7", [2 if letter in _EXTENDED else 1 for letter in text], GSM_ONE, GSM_SEVERAL)
    return _counted("UCS-2", [2 if ord(letter) > LAST_OF_ONE_UNIT else 1 for letter in text], UCS_ONE, UCS_SEVERAL)


def cheapest(text: str) -> str:
    """The text in the GSM alphabet where all its letters have twins there; else as it is, its letters composed."""
    composed = normalized("NFC", text)
    plain = "".join(map(_twin, composed))
    return plain if measure(plain).encoding == "GSM-7" else composed


def in_segments(text: str, most: int) -> str:
    """The text, cut where it has more segments; the cut is seen."""
    return cut(text, lambda some: measure(some).segments <= most, ELLIPSIS)


@lru_cache(_KEPT)
def _twin(letter: str) -> str:
    """The letter in the GSM alphabet, and itself where the alphabet has none of the same meaning."""
    if letter in _BASIC or letter in _EXTENDED:
        return letter
    if _VARIANTS[0] <= letter <= _VARIANTS[1]:
        return ""
    if letter not in ASCII_TWINS and unicodedata.decomposition(letter).startswith(_SAME_MEANING):
        letter = unicodedata.normalize("NFKC", letter)
    return "".join(ASCII_TWINS.get(one, _OF_CATEGORY.get(unicodedata.category(one), one)) for one in letter)


def _counted(encoding: Literal["GSM-7", "UCS-2"], sizes: list[int], one: int, several: int) -> SmsText:
    units = sum(sizes)
    if units <= one:
        return SmsText(encoding, units, 1 if units else 0)
    segments, room = 1, several
    for size in sizes:
        # An escape and its letter, and the two halves of a surrogate pair, stay in one segment.
        if size > room:
            segments, room = segments + 1, several
        room -= size
    return SmsText(encoding, units, segments)
