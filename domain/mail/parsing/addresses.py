"""Addresses out of a header, parsed and never matched as text; bounded, linear, and nothing here raises."""

import re
from dataclasses import dataclass, field
from itertools import islice

from domain.clean_text import clean_text
from domain.mail.parsing.encoded_words import decode_words
from domain.mail.parsing.limits import (
    LONGEST_ADDRESS,
    LONGEST_HEADER,
    LONGEST_NAME,
    MOST_ADDRESS_TOKENS,
    MOST_ADDRESSES,
)
from domain.mail.parsing.parsed_message import Address

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[(),;:]|<[^>]*+>?|[^"(),;:<]+', re.DOTALL)
_ADDR_SPEC = re.compile(r'(?:"[^"\x00-\x1f\x7f]*"|[^@\s<>"(),;:\x00-\x1f\x7f]+)@[^@\s<>"(),;:\x00-\x1f\x7f]+')
_LOOSE = re.compile(r'[^\s<>,;:"()@\x00-\x1f\x7f]{1,64}@[^\s<>,;:"()@\x00-\x1f\x7f]{1,255}')
_CONTROLS = re.compile(r"[\x00-\x1f\x7f]")
_QUOTED_PAIR = re.compile(r"\\(.)", re.DOTALL)
_SPACES = re.compile(r"\s+")


@dataclass(slots=True)
class _Mailbox:
    """One mailbox while its tokens come in."""

    phrase: list[str] = field(default_factory=list)
    comment: list[str] = field(default_factory=list)
    angle: str | None = None
    depth: int = 0

    def take(self, piece: str) -> None:
        if piece == "(":
            self.depth += 1
        elif piece == ")":
            self.depth = max(0, self.depth - 1)
        elif self.depth:
            self.comment.append(piece)
        elif piece == ":":
            # What stood before was the name of a group (RFC 5322, 3.4), such as "undisclosed-recipients".
            self.phrase.clear()
        elif piece.startswith("<"):
            self.angle = self.angle or piece.strip("<>")
        else:
            self.phrase.append(piece)

    def address(self) -> Address | None:
        phrase = "".join(self.phrase).strip()
        spec = phrase if self.angle is None else self.angle
        spec = spec.rpartition(":")[2].strip() if self.angle is not None else spec
        if len(spec) > LONGEST_ADDRESS or not _ADDR_SPEC.fullmatch(spec):
            return None
        name = "".join(self.comment) if self.angle is None else phrase
        return Address(_display(name), clean_text(spec))


def parse_addresses(value: str, most: int = MOST_ADDRESSES) -> tuple[tuple[Address, ...], bool]:
    """The mailboxes of an undecoded address header in order, and whether there is more than was looked at or kept.

    A display name that looks like an address stays a name. What holds no well-formed address is left out; only
    when that leaves nothing is the text searched for anything like one.
    """
    more = len(value) > LONGEST_HEADER
    value = value[:LONGEST_HEADER]
    found: list[Address] = []
    mailbox = _Mailbox()
    for count, match in enumerate(_TOKEN.finditer(value)):
        if count >= MOST_ADDRESS_TOKENS or len(found) > most:
            more = True
            break
        if match[0] not in {",", ";"} or mailbox.depth:
            mailbox.take(match[0])
            continue
        _add(found, mailbox)
        mailbox = _Mailbox()
    else:
        _add(found, mailbox)
    if not found:
        found = [Address("", clean_text(match[0])) for match in islice(_LOOSE.finditer(value), 2)]
    return tuple(found[:most]), more or len(found) > most


def _add(found: list[Address], mailbox: _Mailbox) -> None:
    address = mailbox.address()
    if address is not None:
        found.append(address)


def _display(name: str) -> str:
    text = _QUOTED_PAIR.sub(r"\1", name.replace('"', ""))
    words = clean_text(decode_words(text[: LONGEST_NAME * 10]))
    return _SPACES.sub(" ", _CONTROLS.sub(" ", words)).strip()[:LONGEST_NAME]
