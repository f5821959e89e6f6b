"""How a text that is too long for its channel is cut: between the letters that a reader sees, after a word, visibly."""

import unicodedata
from bisect import bisect
from collections.abc import Callable

_JOINER = "\u200d"
_SKINS, _FLAGS, _TAGS = ("\U0001f3fb", "\U0001f3ff"), ("\U0001f1e6", "\U0001f1ff"), ("\U000e0020", "\U000e007f")
_MOST_OF_LETTER = 40
"""Code points that one letter is taken to have at most: a longer pile of marks is cut, too."""


def cut(text: str, fits: Callable[[str], bool], ellipsis: str = "…") -> str:
    """The text where it fits, else as much of its beginning as fits with the ellipsis behind it.

    What fits must still fit when it is shorter. The last word goes as a whole unless it is half of what would be left.
    """
    if fits(text):
        return text

    def written(end: int) -> str:
        return text[:end].rstrip() + ellipsis

    most = bisect(range(1, len(text)), False, key=lambda end: not fits(written(end)))  # noqa: FBT003 - what is sought
    ends = range(most, max(0, most - _MOST_OF_LETTER) - 1, -1)
    end = next((at for at in ends if not at or not _joins(text, at)), most)
    if not any(map(str.isspace, text[max(0, end - 1) : end + 1])):
        words = text[:end].rsplit(None, 1)
        end = len(words[0]) if len(words) > 1 and 2 * len(words[0]) >= end else end
    return written(end)


def _joins(text: str, at: int) -> bool:
    """Whether a reader sees what is before and what is after this point as one letter (Unicode Standard Annex 29)."""
    before, after = text[at - 1], text[at]
    if unicodedata.category(after).startswith("M") or _JOINER in (before, after):
        return True
    if any(first <= after <= last for first, last in (_SKINS, _TAGS)):
        return True
    flags = text[max(0, at - _MOST_OF_LETTER) : at]
    behind = len(flags) - len(flags.rstrip("".join(map(chr, range(ord(_FLAGS[0]), ord(_FLAGS[1]) + 1)))))
    return _FLAGS[0] <= after <= _FLAGS[1] and behind % 2 == 1
