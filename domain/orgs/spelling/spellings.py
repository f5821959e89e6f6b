r"""How a text may be written that is the same to a reader: one pattern of all its spellings (docs: erase-a-person.md).

The patterns are Python's and PostgreSQL's, both regardless of case. A letter is written by itself, by others that mean
it, by its parts, or as another form of text has it: a link or a mail (`%C3%B6`, `=F6`), JSON (`\u00f6`), HTML
(`&ouml;`), bytes that PostgreSQL escapes (`\303\266`).
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from html.entities import codepoint2name
from itertools import permutations

from domain.orgs.spelling.person_names import name_key
from domain.orgs.spelling.typography import ASCII_TWINS

LAST_LETTER = 0x1FFFF
"""Letters of all scripts are before it, but for rare signs of Chinese that have no other form."""
_TOGETHER = 3
"""Letters that one letter may stand for, such as ﬃ."""
_MOST_MARKS = 3
"""On a letter, that are looked for in any order."""
_UNSEEN_CODES = r"=(?:\r?\n|(?:\\+r)?\\+n)|\\+u(?:00ad|200[b-f]|206[0-4]|feff)|&(?:amp;)*(?:shy|#0*173);"
UNSEEN = f"(?:[\u00ad\u034f\u200b-\u200f\u2060-\u2064\ufeff]|{_UNSEEN_CODES})*"
"""Between two letters; in a link nobody writes it."""
_OTHER_NAMES = {"@": "commat", "'": "apos", "+": "plus", ".": "period", "_": "lowbar", "-": "hyphen"}
"""Of HTML 5, besides those of HTML 4."""
_BLANKS = "\\t-\\r \u0085\u00a0\u1680\u2000-\u200f\u2028\u2029\u202f\u205f\u2060\u3000\ufeff"
_BLANK = (
    rf"(?:[{_BLANKS}]|\\+(?:[bfnrt]|u00(?:0[9a-d]|20|a0)|u20[02][0-9a-f]|302\\+240)"
    r"|[%=](?:25)?(?:20|0[9ad]|c2[%=](?:25)?a0|a0)|&(?:amp;)*(?:nbsp|#0*(?:32|160)|#x0*(?:20|a0));)"
)
GAP = rf"(?:{_BLANK}+|[._+-])"
"""Between two words: blanks of any form, or what stands for one in a file's name or a link."""
BETWEEN_DIGITS = rf"(?:[().\u00b7/\u2010-\u2015\u2212-]|[%=]2[89def]|{_BLANK}){{0,4}}"
"""What people write between the groups of a number."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """A pattern, and how many characters it finds at least."""

    pattern: str
    shortest: int


def spelled(text: str) -> Spelling:
    """The spellings of a text without blanks that is written as names are compared (`name_key`)."""
    parts = [_spelled_piece(one) for one in _pieces(text)]
    return Spelling(UNSEEN.join(one.pattern for one in parts), sum(one.shortest for one in parts))


def spelled_name(name: str) -> Sequence[Spelling]:
    """The spellings of a name: the words in order first, then with those behind a comma before the others."""
    words = [spelled(one) for one in name_key(name).split()]
    orders = [_in_order(words)]
    orders += [
        f"{_in_order(words[at:])}{UNSEEN}(?:,|%2c){_BLANK}*{_in_order(words[:at])}"
        for at in range(1, len(words) if len(words) <= _MOST_WORDS else 0)
    ]
    shortest = sum(one.shortest for one in words) + len(words) - 1
    return [Spelling(one, shortest) for one in orders]


def spelled_digit(digit: str) -> str:
    """A digit of any script."""
    return f"[{''.join(_forms()[digit])}]"


_MOST_WORDS = 6
"""Of a name, for that each of the last may stand before a comma."""


def _in_order(words: list[Spelling]) -> str:
    return f"{UNSEEN}{GAP}{UNSEEN}".join(one.pattern for one in words)


def _pieces(text: str) -> Iterator[str]:
    """The letters of a text; those together for which one letter may stand."""
    at = 0
    while at < len(text):
        length = next((many for many in range(_TOGETHER, 1, -1) if text[at : at + many] in _forms()), 1)
        yield text[at : at + length]
        at += length


@lru_cache(1_024)
def _spelled_piece(piece: str) -> Spelling:
    letters = [*_forms().get(piece, ()), *([piece] if len(piece) == 1 else [])]
    found = dict.fromkeys(map(_plain, letters))
    for letter in letters:
        if not (letter.isascii() and letter.isalnum()) and _is_common(letter):
            found |= dict.fromkeys(_coded(letter))
    if len(piece) > 1:
        splits = [(piece[:at], piece[at:]) for at in range(1, len(piece))]
        found |= dict.fromkeys(UNSEEN.join(_spelled_piece(part).pattern for part in split) for split in splits)
        return Spelling(f"(?:{'|'.join(found)})", 1)
    for base, marks in _in_parts(piece):
        found[_spelled_piece(base).pattern + "".join(_either(mark) for mark in marks)] = None
    return Spelling(f"(?:{'|'.join(found)})" + (f"(?:{_either(_DOT)})?" if piece == "i" else ""), 1)


def _is_common(letter: str) -> bool:
    """Whether people write the letter, and not only for its look."""
    return letter in ASCII_TWINS or unicodedata.normalize("NFKC", letter) == letter


def _means_same(decomposition: str) -> bool:
    """Whether the decomposition of a letter says so; not of signs for formulas and lists, which are many."""
    return bool(decomposition) and (decomposition[0] != "<" or decomposition.startswith(_SAME_MEANING))


_SAME_MEANING = ("<wide>", "<narrow>", "<compat>", "<initial>", "<medial>", "<final>", "<isolated>")
_ALONE = {*ASCII_TWINS, "\u0131"}
"""Letters that mean another one, though Unicode takes them apart in no way: with them, the Turkish i without a dot."""
_DOT = "\u0307"
"""What the dotted capital I of Turkish has in its parts."""


def _plain(letter: str) -> str:
    """A letter by itself; JSON has backslashes before what ends a text, and before a backslash."""
    if letter == "\\":
        return r"\\+"
    return rf"\\*{re.escape(letter)}" if letter in "\"'" else re.escape(letter)


def _either(letter: str) -> str:
    return f"(?:{'|'.join((re.escape(letter), *_coded(letter)))})"


def _coded(letters: str) -> Iterator[str]:
    """As other forms of text have the letter, which may be several in upper case."""
    for encoding in ("utf-8", "latin-1"):
        data = letters.encode(encoding, "ignore")
        if data:
            yield "".join(f"[%=](?:25)?{one:02x}" for one in data)
    data = letters.encode()
    if not letters.isascii():
        yield "".join(rf"\\+(?:{one:03o}|x{one:02x})" for one in data)
    units = letters.encode("utf-16-be")
    yield "".join(rf"(?:\\+|%)u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
    if len(letters) == 1:
        name = codepoint2name.get(ord(letters)) or _OTHER_NAMES.get(letters)
        yield f"&(?:amp;)*(?:#0*{ord(letters)}|#x0*{ord(letters):x}{f'|{name}' if name else ''});"


def _in_parts(letter: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """A letter as another one with marks behind it, in any order."""
    base, *marks = list(unicodedata.normalize("NFD", letter))
    any_order = len(marks) <= _MOST_MARKS and all(map(unicodedata.combining, marks))
    for order in dict.fromkeys(permutations(marks) if any_order else [tuple(marks)]):
        for kept in range(len(order)):
            composed = unicodedata.normalize("NFC", base + "".join(order[:kept]))
            if len(composed) == 1:
                yield composed, order[kept:]


@cache
def _forms() -> Mapping[str, list[str]]:
    """By letters as names are compared: the other letters that each stand for them. Digits are of all scripts."""
    found = defaultdict(list)
    for letter in map(chr, range(LAST_LETTER)):
        if letter.isdecimal():
            found[str(unicodedata.decimal(letter))].append(letter)
        elif letter.casefold() != letter or letter in _ALONE or _means_same(unicodedata.decomposition(letter)):
            key = name_key(letter)
            if 0 < len(key) <= _TOGETHER and key != letter:
                found[key].append(letter)
    return found
