"""Header lines of a message, written so that no value can end its line (docs: sending.md#headers).

The lines are made here and not by `EmailMessage`, because its folding in Python 3.11 turns long message ids into
encoded words, and makes encoded words longer than the 75 characters that RFC 2047 allows.
"""

import re
from collections.abc import Sequence
from email.header import Header

from domain.clean_text import clean_text
from domain.jobs.failures import Invalid
from domain.payloads.mail_address import Address, check_address

LONGEST_NAME = 100
"""Characters of a display name; the rest is cut."""
LONGEST_ID = 980
"""Characters of a message id: a line has at most 998 (RFC 5322, 2.1.1), and `In-Reply-To` stands on it."""
LINE = 76
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_ATOMS = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~ -]*")
_SPECIALS = re.compile(r'["\\<>()\[\],;:@]')
_FIELD = re.compile(r"[A-Za-z0-9-]{1,60}")
_FOLD = "\r\n "


def text_line(name: str, value: str) -> str:
    """A header of words in any script, folded, with its line end; raises `Invalid` for a value with a line break."""
    _check(name, value)
    # An ASCII text that looks like an encoded word would be read as what it encodes.
    if value.isascii() and "=?" not in value and all(len(word) < LINE for word in value.split(" ")):
        return _line(name, Header(value, "us-ascii", maxlinelen=LINE, header_name=name).encode(linesep="\r\n"))
    return _line(name, _encoded(value, len(name) + 2))


def address_line(name: str, addresses: Sequence[Address]) -> str:
    """A header of mailboxes, each on a line of its own; an empty text for none.

    Raises `Invalid` for a line break in a name or an address, and for what is no address.
    """
    if not addresses:
        return ""
    return _line(name, f",{_FOLD}".join(_mailbox(name, one) for one in addresses))


def ids_line(name: str, ids: Sequence[str]) -> str:
    """A header of message ids, each on a line of its own; an empty text for none.

    An id is written as it was read. Only one with other letters than ASCII is encoded, as mailers write such ids.
    """
    for one in ids:
        _check(name, one)
    return (
        _line(
            name, _FOLD.join(one if one.isascii() and "=?" not in one else _encoded(one, len(name) + 2) for one in ids)
        )
        if ids
        else ""
    )


def word_line(name: str, value: str) -> str:
    """A header whose value we choose ourselves: one word of ASCII."""
    _check(name, value)
    return _line(name, value)


def header_text(text: str) -> str:
    """A text that somebody else may have written, as a header can hold it: on one line, without control characters."""
    return " ".join(_CONTROL.sub(" ", clean_text(text)).split())


def mended(address: Address) -> Address:
    """A mailbox whose name a header can hold; its address is left as it is."""
    return Address(header_text(address.name), address.address)


def mailbox_text(address: Address) -> str:
    """A mailbox as a payload names it: `Ada Lovelace <ada@example.org>`, the name in quotation marks if need be.

    What a name must not hold, since somebody else may have written it, becomes a space.
    """
    name = header_text(address.name)[:LONGEST_NAME].strip()
    if not name:
        return address.address
    return f"{_quoted(name) if _SPECIALS.search(name) else name} <{address.address}>"


def _line(name: str, value: str) -> str:
    if not _FIELD.fullmatch(name):
        raise Invalid("header", "is no name of a header")
    return f"{name}: {value}\r\n"


def _check(field: str, value: str) -> None:
    if _CONTROL.search(value):
        raise Invalid(field.lower(), "holds a line break or another control character")


def _mailbox(field: str, one: Address) -> str:
    _check(field, one.name)
    _check(field, one.address)
    address = check_address(field.lower(), one.address)
    name = " ".join(clean_text(one.name)[:LONGEST_NAME].split())
    if not name:
        return address
    if not name.isascii() or "=?" in name:
        return f"{_encoded(name, len(field) + 2)} <{address}>"
    return f"{name if _ATOMS.fullmatch(name) else _quoted(name)} <{address}>"


def _quoted(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _encoded(text: str, taken: int) -> str:
    """RFC 2047 encoded words of at most 75 characters, folded; `taken` is the text before them on the first line."""
    header = Header(clean_text(text), "utf-8", maxlinelen=LINE - 1, header_name="x" * max(taken - 2, 0))
    return header.encode(splitchars="", linesep="\r\n")
