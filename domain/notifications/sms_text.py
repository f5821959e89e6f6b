"""How a text travels as SMS: its encoding, and in how many segments (3GPP TS 23.038, 6.2.1; TS 23.040, 9.2.3.24.1).

A text of the GSM alphabet has 160 septets in one segment and 153 in each of several; any other text has 70 and 67
units of UTF-16. One letter outside the alphabet, such as a typographic quotation mark, so doubles what a text costs.
"""

from dataclasses import dataclass
from typing import Literal

_BASIC = (
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿"
    "abcdefghijklmnopqrstuvwxyzäöñüà"
)
_EXTENDED = "\f^{}\\[~]|€"
"""Letters that take two septets: an escape, and their own."""

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
