"""From a message's bytes to clean text, whatever charset or transfer encoding it claims; nothing here raises."""

import binascii
import codecs
import quopri
import re
from collections.abc import Iterable

import webencodings
from charset_normalizer import from_bytes

from domain.clean_text import clean_text
from domain.mail.parsing.charsets import find_charset
from domain.mail.parsing.limits import LONGEST_SAMPLE, META_WITHIN

_GUESS_INSTEAD = frozenset({"us-ascii", "ascii", "ansi_x3.4-1968", "unknown-8bit", "x-unknown", "default", "8bit", ""})
_META_CHARSET = re.compile(rb"<meta\b[^>]{0,300}?\bcharset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
_WIDE = frozenset({"utf-16le", "utf-16be"})
_WIDE_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_ESCAPE = b"\x1b$"
"""Begins each set of two-byte letters in ISO-2022 (RFC 1468, RFC 1557)."""
_ESCAPING = ("iso2022_kr", "iso2022_jp_2004", "iso2022_jp_ext", "iso2022_jp_2")
"""Korean first, whose sequences one of the others passes over."""
_JIS = re.compile(rb"\x1b\$[@B]")
_SINGLE = ("windows-", "iso-8859-", "koi8-")
"""Charsets in which the bytes of a letter of UTF-8 are no letters of any word."""
_MOST_LOST = 4
"""One letter in so many may be unreadable in the charset that was named."""
_EIGHT_BIT = re.compile(rb"[\x80-\xff]")
_HIGH = bytes(range(0x80, 0x100))
_OTHERS = {0xDC00 + byte: bytes([byte]).decode("cp1252", "ignore") or "\ufffd" for byte in _HIGH}
"""Bytes that do not fit, as `surrogateescape` writes them (PEP 383)."""
_NO_OTHERS = dict.fromkeys(_OTHERS)
_LEAST_FOREIGN = 8
_LATIN_SHARE = 3
"""In text of Western Europe fewer letters than one in so many are beyond ASCII."""
_NO_LATIN = re.compile("[a-z\u00e0-\u00ff][\u00a1-\u00a9\u00ac-\u00b6\u00b8\u00b9\u00bc-\u00bf][a-z\u00e0-\u00ff]")
_FEW_SIGNS = 2
"""With more signs inside of words they are letters of Central Europe."""
_KANA = re.compile("[\u3041-\u30ff]")
_KANA_SHARE = 6
"""In Japanese more letters than one in so many are kana."""
_DETECTED = (
    "cp932",
    "gb18030",
    "big5",
    "cp949",
    "koi8_r",
    "cp1251",
    "iso8859_5",
    "cp1250",
    "iso8859_2",
    "cp1253",
    "cp1254",
    "cp1255",
    "cp1256",
    "cp1257",
    "cp874",
    "iso8859_6",
)
_SOFT_BREAK = re.compile(rb"=[ \t]++(?=[\r\n]|\Z)")
"""With the blanks that servers put behind it (RFC 2045, 6.7)."""
_PADDED_BLOCKS = re.compile(rb"[A-Za-z0-9+/=\r\n]*")
_MOST_BLOCKS = 100_000
_NOT_BASE64 = re.compile(rb"[^A-Za-z0-9+/]+")
_BASE64_QUANTUM = 4
_IDENTITY = frozenset({"", "7bit", "8bit", "binary", "none"})


def guess_text(data: bytes, charset: str | None = None) -> str:
    """Text of unknown charset: ISO-2022 by its escape sequences, else UTF-8 if it is that, else what it looks like.

    `charset` is what it looks like, when that is known.
    """
    if _is_escaped(data):
        return clean_text(_escaped_text(data))
    if data.startswith(_WIDE_MARKS):
        return clean_text(data.decode("utf-16", "replace"))
    text = _utf_8_text(data)
    return clean_text(data.decode(charset or guess_charset([data]), "replace") if text is None else text)


def decode_text(data: bytes, charset: str) -> tuple[str, bool]:
    """Text in the named charset, and whether the text fits its name; if not, the charset is guessed.

    US-ASCII is guessed too, because mail with 8-bit letters often claims it. A byte order mark outweighs the name.
    """
    if is_guessed(charset):
        return guess_text(data), True
    encoding = find_charset(charset)
    if encoding is not None and not _is_escaped(data):
        if encoding.name in _WIDE:
            encoding = _in_order(data, encoding)
        text = webencodings.decode(data, encoding)[0]
        if _fits(text) and not _is_utf_8(data, encoding.name, lost="\ufffd" in text):
            return clean_text(text), True
    return guess_text(data), encoding is not None and _is_escaped(data)


def _fits(text: str) -> bool:
    """Whether most letters beyond ASCII could be read."""
    return text.count("\ufffd") * _MOST_LOST <= _foreign(text)


def _foreign(text: str) -> int:
    """How many letters are beyond ASCII."""
    return len(text) - len(text.encode("ascii", "ignore"))


def _is_utf_8(data: bytes, claimed: str, *, lost: bool) -> bool:
    """Whether bytes that claim another charset are UTF-8.

    Text in other charsets is that by chance only where it has few letters; where some were lost, nothing speaks for
    the claim.
    """
    if (
        claimed == "utf-8"
        or data.startswith(codecs.BOM_UTF8)
        or b"\x00" in data
        or (data.isascii() and claimed not in _WIDE)
    ):
        return False
    text = _strict_text(data, "utf-8")
    few = 1 if lost or claimed.startswith(_SINGLE) else _LEAST_FOREIGN // 2
    return text is not None and (claimed in _WIDE or _foreign(text) >= few)


def _in_order(data: bytes, claimed: webencodings.Encoding) -> webencodings.Encoding:
    """UTF-16 in the order of bytes in which its blanks are blanks, or most of its letters Latin.

    The standard reads UTF-16 without a mark in one order, RFC 2781 in the other.
    """
    text = data.decode("utf-16-le", "replace")
    little, big = (
        sum(map(text.count, blanks)) + (data[first::2].count(0) * 4 > len(data))
        for blanks, first in ((" \n\r", 1), ("\u2000\u0a00\u0d00", 0))
    )
    return claimed if little == big else webencodings.lookup("utf-16le" if little > big else "utf-16be")


def _is_escaped(data: bytes) -> bool:
    """Whether the bytes are in a charset of ISO-2022, whatever they claim: no other text holds its sequences.

    A mailer may have put a few letters of another charset between them.
    """
    escapes = data.count(_ESCAPE)
    return escapes > 0 and len(data) - len(data.translate(None, _HIGH)) <= escapes * _MOST_LOST


def _strict_text(data: bytes, charset: str) -> str | None:
    """The text, if every byte fits; a cut last character is forgiven."""
    try:
        return codecs.getincrementaldecoder(charset)().decode(data).removeprefix("\ufeff")
    except UnicodeDecodeError:
        return None


def _utf_8_text(data: bytes) -> str | None:
    """The text, if most of its letters beyond ASCII are of UTF-8; other bytes among them are those of windows-1252.

    A last letter that was cut is left out, if there is another: alone it is a letter of another charset.
    """
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    text = decoder.decode(data).removeprefix("\ufeff")
    others = len(text) - len(text.translate(_NO_OTHERS))
    is_odd = others or decoder.getstate()[0]
    if is_odd and _foreign(text.translate(_NO_OTHERS)) < max(others, 1):
        return None
    return text.translate(_OTHERS)


def _escaped_text(data: bytes) -> str:
    """ISO-2022-JP and -KR. Mailers write the signs of JIS X 0213, such as a 1 in a circle, as if they were X 0208's."""
    extended = _JIS.sub(b"\x1b$(Q", data.replace(b"\x1b(J", b"\x1b(B"))
    readings = [(extended if name.endswith("2004") else data).decode(name, "replace") for name in _ESCAPING]
    return min(readings, key=lambda text: (text.count("\ufffd"), text.count("\x1b")))


def guess_charset(pieces: Iterable[bytes]) -> str:
    """What 8-bit text that is no UTF-8 looks like: windows-1252, unless its letters would be none in that charset."""
    data = b"\n".join(piece for piece in pieces if _utf_8_text(piece) is None)
    first = _EIGHT_BIT.search(data)
    sample = data[first.start() : first.start() + LONGEST_SAMPLE] if first else b""
    if len(sample) == LONGEST_SAMPLE:
        sample = sample.rsplit(maxsplit=1)[0]
    foreign = len(sample) - len(sample.translate(None, _HIGH))
    latin = (
        foreign * _LATIN_SHARE < len(sample) and len(_NO_LATIN.findall(sample.decode("cp1252", "replace"))) < _FEW_SIGNS
    )
    if latin or foreign < _LEAST_FOREIGN:
        return "cp1252"
    for name in ("euc_jp", "cp932"):
        text = _strict_text(sample, name) or ""
        if len(_KANA.findall(text)) * _KANA_SHARE > len(text):
            return name
    possible = [name for name in _DETECTED if _strict_text(sample, name) is not None]
    found = from_bytes(sample, cp_isolation=possible, enable_fallback=False).best() if possible else None
    return "cp1252" if found is None else found.encoding


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
        return quopri.decodestring(_SOFT_BREAK.sub(b"=", data)), True
    if name == "base64":
        return _decode_base64(data)
    return data, False


def base64_size(raw: bytes, start: int, stop: int) -> int:
    """About how many bytes a base64 body holds, without decoding or copying it."""
    blanks = raw.count(b"\n", start, stop) + raw.count(b"\r", start, stop)
    return max(0, (stop - start - blanks) * 3 // 4 - raw.count(b"=", max(start, stop - 4), stop))


def _decode_base64(data: bytes) -> tuple[bytes, bool]:
    """Everything up to the padding; strangers between the letters are passed over, as RFC 2045 tells us.

    Behind the padding only letters count, of a block that was encoded by itself: the foot of a list is none.
    """
    first, _, rest = data.partition(b"=")
    rest = rest.strip(b"= \t\r\n")
    is_block = _PADDED_BLOCKS.fullmatch(rest) is not None
    blocks = [first, *(re.split(rb"=+", rest, maxsplit=_MOST_BLOCKS) if is_block else ())]
    letters = [_NOT_BASE64.sub(b"", block) for block in blocks]
    odd = not is_block or any(len(block) % _BASE64_QUANTUM == 1 for block in letters)
    return b"".join(map(_decode_block, letters)), not odd


def _decode_block(letters: bytes) -> bytes:
    whole = letters[:-1] if len(letters) % _BASE64_QUANTUM == 1 else letters
    return binascii.a2b_base64(whole + b"=" * (-len(whole) % _BASE64_QUANTUM))
