"""Addresses out of a header, parsed and never matched as text; bounded, linear, and nothing here raises."""

import re
from collections.abc import Iterator
from itertools import islice

from domain.clean_text import clean_text
from domain.mail.parsing.encoded_words import decode_words
from domain.mail.parsing.header_text import bare_text, unescape_pairs
from domain.mail.parsing.limits import (
    LONGEST_HEADER,
    LONGEST_NAME,
    LONGEST_VALUE,
    MOST_ADDRESS_TOKENS,
    MOST_ADDRESSES,
)
from domain.payloads.mail_address import Address, is_readable

_QUOTED = r'"(?:[^"\\]|\\.)*+"'
_TOKEN = re.compile(
    rf"(?<![\w\\]){_QUOTED}(?!\w)|=\?[^?\s]{{1,80}}\?[bBqQ]\?[^?\s]*+\?=|[(),;:]|"
    rf'<(?:@[^<>:]*+:)?+(?:{_QUOTED}|[^<>,;"])*+>?|(?:@\[[^\[\]\s<>@]*+\]|[^"(),;:<=]|=(?!\?))++|["=]',
    re.DOTALL,
)
"""A quote inside a word, or without another one, is a letter like any other. An angle that is never closed ends at the
next comma. So what is wrong with a mailbox costs no other. The signs in an encoded word are letters, and an address of
a host (RFC 5321, 4.1.3) may hold colons."""
_WORD = r'[^\s<>,;:"()@\x00-\x1f\x7f]'
_LOOSE = re.compile(rf"(?<!{_WORD})(?<!@){_WORD}{{1,320}}+@{_WORD}{{1,255}}+(?!@)")
"""Where a text has two at-signs in one word, nobody can tell which address it means."""
_PREFIX = re.compile(r"(?:@[^:]*|mailto):", re.IGNORECASE)
"""A route (RFC 5322, 4.4), or a link."""
_INVISIBLE = re.compile(r"[\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]")
"""Signs that no reader sees, which programs copy along with an address; two others belong to words of some scripts."""
_AROUND = "\"'`<>()[] \u2018\u2019\u201c\u201d\u200c\u200d"
_BLANKS_AROUND = re.compile(r"(?<!\s)\s*+([@.])\s*+")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f]")
_SPACES = re.compile(r"\s+")


def parse_addresses(value: str, most: int = MOST_ADDRESSES) -> tuple[tuple[Address, ...], bool]:
    """The mailboxes of an undecoded address header in order, and whether there is more than was looked at or kept.

    A display name that looks like an address stays a name. What holds no well-formed address is left out; only
    when that leaves nothing is the text searched for anything like one.
    """
    cut = value[:LONGEST_HEADER]
    found, more = _read(cut, most)
    if not found and "=?" in cut:
        found, more = _read(decode_words(cut), most)
    if not found:
        loose = (_address([], match[0]) for match in islice(_LOOSE.finditer(cut), most + 1))
        found = [one for one in loose if one is not None]
    return tuple(found[:most]), more or len(value) > LONGEST_HEADER or len(found) > most


def _read(value: str, most: int) -> tuple[list[Address], bool]:
    """The mailboxes, one too many at most, and whether the header has more pieces than were looked at."""
    pieces = [match[0] for match in islice(_TOKEN.finditer(value), MOST_ADDRESS_TOKENS + 1)]
    return list(islice(_addresses(pieces[:MOST_ADDRESS_TOKENS]), most + 1)), len(pieces) > MOST_ADDRESS_TOKENS


def _addresses(pieces: list[str]) -> Iterator[Address]:
    never_closed = _never_closed(pieces)
    phrase: list[str] = []
    comment: list[str] = []
    depth = 0
    for number, piece in enumerate([*pieces, ","]):
        is_angle = piece.startswith("<") and "@" in piece
        if piece == "(" and number not in never_closed:
            depth += 1
        elif piece == ")":
            depth = max(0, depth - 1)
        elif depth:
            comment.append(piece)
        elif is_angle or piece in {",", ";"}:
            if phrase or is_angle:
                yield from _mailboxes(phrase, comment, piece if is_angle else "")
            phrase, comment = [], []
        else:
            phrase.append(piece)


def _mailboxes(phrase: list[str], comment: list[str], angle: str) -> Iterator[Address]:
    """A name with the address in angles; without these the address alone or behind a name, or several.

    Before a colon stands the name of a group (RFC 5322, 3.4), such as "undisclosed-recipients".
    """
    if ":" in phrase:
        phrase = phrase[len(phrase) - phrase[::-1].index(":") :]
    text = angle.strip("<>") if angle else "".join(phrase).strip()
    found = _address(phrase if angle else comment, text)
    words = [] if found or angle else text.split()
    if found:
        yield found
    elif all("@" in word for word in words):
        yield from filter(None, (_address([], word) for word in words[: MOST_ADDRESSES + 1]))
    elif words and "@" not in "".join(words[:-1]):
        yield from filter(None, [_address([text.rpartition(" ")[0]], words[-1])])


def _never_closed(pieces: list[str]) -> set[int]:
    """The parentheses that begin no comment."""
    opened: list[int] = []
    for number, piece in enumerate(pieces):
        if piece == "(":
            opened.append(number)
        elif piece == ")" and opened:
            opened.pop()
    return set(opened)


def _address(name: list[str], text: str) -> Address | None:
    if "@" not in text or len(text) > LONGEST_VALUE:
        return None
    stripped = _INVISIBLE.sub("", clean_text(text)).strip()
    prefix = _PREFIX.match(stripped)
    spec = stripped[prefix.end() :].strip() if prefix else stripped
    if is_readable(spec):
        return Address(_display(name), spec)
    plain = spec if '"' in spec else bare_text(spec)
    for one in (_BLANKS_AROUND.sub(r"\1", plain), spec.strip(_AROUND)):
        if is_readable(one):
            return Address(_display(name), one)
    return None


def _display(name: list[str]) -> str:
    """A name without the quotes around it, which belong to the header."""
    quoted = (len(piece) > 1 and piece[0] == piece[-1] == '"' for piece in name)
    plain = (unescape_pairs(piece[1:-1]) if inside else piece for piece, inside in zip(name, quoted, strict=True))
    words = clean_text(decode_words("".join(plain)[: LONGEST_NAME * 10]))
    text = _SPACES.sub(" ", _CONTROLS.sub(" ", words)).strip()
    return (text.strip('"') if text.startswith('"') else text)[:LONGEST_NAME]
