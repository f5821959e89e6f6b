"""From a message's bytes to clean text, whatever charset or transfer encoding it claims; nothing here raises."""

import binascii
import codecs
import quopri
import re

import webencodings

from domain.clean_text import clean_text
from domain.mail.parsing.charsets import find_charset
from domain.mail.parsing.limits import META_WITHIN

_GUESS_INSTEAD = frozenset({"us-ascii", "ascii", "ansi_x3.4-1968", "unknown-8bit", "x-unknown", "default", "8bit", ""})
_META_CHARSET = re.compile(rb"<meta\b[^>]{0,300}?\bcharset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
_WIDE = frozenset({"utf-16le", "utf-16be"})
_NOT_BASE64 = re.compile(rb"[^A-Za-z0-9+/]+")
_BASE64_QUANTUM = 4
_IDENTITY = frozenset({"", "7bit", "8bit", "binary", "none"})


def guess_text(data: bytes) -> str:
    """Text of unknown charset: UTF-8 if it is that (a cut last character is forgiven), else Windows-1252."""
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(data)
    except UnicodeDecodeError:
        text = data.decode("cp1252", "replace")
    return clean_text(text)


def decode_text(data: bytes, charset: str) -> tuple[str, bool]:
    """Text in the named charset, and whether that charset exists; if not, the charset is guessed.

    US-ASCII is guessed too, because mail with 8-bit letters often claims it. A byte order mark outweighs the name.
    """
    if is_guessed(charset):
        return guess_text(data), True
    encoding = find_charset(charset)
    if encoding is None:
        return guess_text(data), False
    return clean_text(webencodings.decode(data, encoding)[0]), True


def is_guessed(charset: str) -> bool:
    """Whether a charset's name says nothing."""
    return charset.strip(" \t\r\n\"'").lower() in _GUESS_INSTEAD


def page_charset(data: bytes) -> str:
    """The charset that an HTML page names for itself, or nothing.

    A page that can be read so far is not in UTF-16, whatever it says (HTML standard, prescan a byte stream).
    """
    found = _META_CHARSET.search(data, 0, META_WITHIN)
    if found is None:
        return ""
    encoding = find_charset(found[1].decode("ascii"))
    return "utf-8" if encoding is not None and encoding.name in _WIDE else found[1].decode("ascii")


def decode_transfer(data: bytes, encoding: str) -> tuple[bytes, bool]:
    """The bytes behind a Content-Transfer-Encoding, and whether it was one we know and could read whole."""
    name = encoding.strip().lower()
    if name in _IDENTITY:
        return data, True
    if name == "quoted-printable":
        return quopri.decodestring(data), True
    if name == "base64":
        return _decode_base64(data)
    return data, False


def base64_size(raw: bytes, start: int, stop: int) -> int:
    """About how many bytes a base64 body holds, without decoding or copying it."""
    blanks = raw.count(b"\n", start, stop) + raw.count(b"\r", start, stop)
    return max(0, (stop - start - blanks) * 3 // 4 - raw.count(b"=", max(start, stop - 4), stop))


def _decode_base64(data: bytes) -> tuple[bytes, bool]:
    """Everything up to the padding; strangers between the letters are passed over, as RFC 2045 tells us."""
    letters = _NOT_BASE64.sub(b"", data.split(b"=", 1)[0])
    odd = len(letters) % _BASE64_QUANTUM
    if odd == 1:
        letters = letters[:-1]
    padding = b"=" * (-len(letters) % _BASE64_QUANTUM)
    return binascii.a2b_base64(letters + padding), odd != 1
