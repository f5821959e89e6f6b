"""From a message's bytes to clean text, whatever charset or transfer encoding it claims; nothing here raises."""

import binascii
import codecs
import quopri
import re

from domain.text.clean_text import clean_text

_CHARSET_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:+-]{0,39}")
_NOT_FOR_MAIL = frozenset({"idna", "punycode", "undefined", "unicode_escape", "raw_unicode_escape", "mbcs", "oem"})
_GUESS_INSTEAD = frozenset({"us-ascii", "ascii", "ansi_x3.4-1968", "unknown-8bit", "x-unknown", "default", "8bit", ""})
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

    US-ASCII is guessed too, because mail with 8-bit letters often claims it.
    """
    name = charset.strip().strip("\"'").lower()
    if name in _GUESS_INSTEAD:
        return guess_text(data), True
    if not _CHARSET_NAME.fullmatch(name):
        return guess_text(data), False
    try:
        if codecs.lookup(name).name.replace("-", "_") in _NOT_FOR_MAIL:
            return guess_text(data), False
        return clean_text(data.decode(name, "replace")), True
    except (LookupError, ValueError):
        return guess_text(data), False


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


def base64_size(data: bytes) -> int:
    """About how many bytes a base64 body holds, without decoding it."""
    blanks = data.count(b"\n") + data.count(b"\r")
    return max(0, (len(data) - blanks) * 3 // 4 - data[-4:].count(b"="))


def _decode_base64(data: bytes) -> tuple[bytes, bool]:
    """Everything up to the padding; strangers between the letters are passed over, as RFC 2045 tells us."""
    letters = _NOT_BASE64.sub(b"", data.split(b"=", 1)[0])
    odd = len(letters) % _BASE64_QUANTUM
    if odd == 1:
        letters = letters[:-1]
    padding = b"=" * (-len(letters) % _BASE64_QUANTUM)
    return binascii.a2b_base64(letters + padding), odd != 1
