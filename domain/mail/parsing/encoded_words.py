"""Encoded words and parameters in headers (RFC 2047, RFC 2231), read leniently; nothing here raises."""

import re
from itertools import islice
from urllib.parse import unquote_to_bytes

from domain.mail.parsing.header_text import bare_text, unescape_pairs
from domain.mail.parsing.limits import LONGEST_HEADER, MOST_PARAMETERS, MOST_WORDS
from domain.mail.parsing.mail_encoding import decode_text, decode_transfer

_WORD = re.compile(r"=\?([^?\s]{1,80})\?(?:([qQ])\?((?:[^?=]|=(?!\?[^=])|\?(?!=(?![0-9A-F]{2})))*)|([bB])\?([^?]*))\?=")
"""A question mark belongs to the text in Q, though RFC 2047 forbids it: unless "=" follows, which ends the word. Two
digits behind that are a letter again. Another word that begins ends the text as well."""
_PARAMETER = re.compile(r';\s*+([^\s=;]{1,80})\s*+=\s*+(?:"((?:[^"\\]|\\.)*+)"(?=\s*+(?:[;(]|\Z))|([^;]*+))', re.DOTALL)
_FORGOTTEN = re.compile(r"\A(\s*+(?:[^\s;=()]++\s)?+\s*+)(?=[^\s;=()]++\s?=)")
"""Where a parameter follows the main value, or begins, without a semicolon."""
_NAMES = frozenset({"name", "filename", "boundary"})
_AFTER_NAME = re.compile(
    r"\s(?:size|name|charset|x-[a-z-]{1,40}|(?:creation|modification|read)-date)\s?=", re.IGNORECASE
)
"""What follows a file name whose sender forgot the semicolon."""
_CONTINUED = re.compile(r"([^*]+)\*(\d{1,3})(\*?)")


def decode_words(text: str) -> str:
    """A header value with its encoded words decoded; neighbours of the same charset are joined before decoding.

    Joining repairs the many mailers that cut a multi-byte character in two. Words after the first `MOST_WORDS` stay.
    """
    pieces: list[str] = []
    pending: list[bytes] = []
    pending_charset = ""
    position = 0
    for match in islice(_WORD.finditer(text), MOST_WORDS):
        between = text[position : match.start()]
        charset = match[1].partition("*")[0].lower()
        if pending and (between.strip() or charset != pending_charset):
            pieces.append(decode_text(b"".join(pending), pending_charset)[0])
            pending.clear()
        if between.strip() or position == 0:
            pieces.append(between)
        pending.append(_word_bytes(match[2] or match[4], match[3] or match[5] or ""))
        pending_charset = charset
        position = match.end()
    if pending:
        pieces.append(decode_text(b"".join(pending), pending_charset)[0])
    return "".join(pieces) + text[position:]


def parse_parameters(value: str) -> tuple[str, dict[str, str]]:
    """The main value in lower case and its parameters by lower-case name, continuations joined.

    Of several the first wins, and the form of RFC 2231 over the plain one. Encoded words, which RFC 2047 forbids
    here, are left for whoever shows the value.
    """
    value = _FORGOTTEN.sub(r"\1;", value[:LONGEST_HEADER], count=1)
    main = bare_text(value).partition(";")[0].strip().lower()
    parameters: dict[str, str] = {}
    continued: dict[str, dict[int, tuple[str, bool]]] = {}
    for match in islice(_PARAMETER.finditer(value), MOST_PARAMETERS):
        name = match[1].lower()
        raw = unescape_pairs(match[2]) if match[3] is None else _unquoted(name, match[3])
        piece = _CONTINUED.fullmatch(name)
        if piece:
            continued.setdefault(piece[1], {}).setdefault(int(piece[2]), (raw, bool(piece[3])))
        elif name.endswith("*"):
            continued.setdefault(name[:-1], {}).setdefault(0, (raw, True))
        else:
            parameters.setdefault(name, raw)
    for name, pieces in continued.items():
        parameters[name] = _extended([pieces[number] for number in sorted(pieces)])
    return main, parameters


def _word_bytes(encoding: str, payload: str) -> bytes:
    data = payload.encode("utf-8", "replace")
    if encoding in "bB":
        return decode_transfer(data, "base64")[0]
    return decode_transfer(data.replace(b"_", b"=20"), "quoted-printable")[0]


def _unquoted(name: str, raw: str) -> str:
    """A value without quotes, or with one that ends nowhere: blanks belong to names of files and to boundaries only."""
    if name.partition("*")[0] not in _NAMES:
        return next(iter(bare_text(raw).split()), "")
    end = _AFTER_NAME.search(raw)
    return raw[: end.start() if end else None].strip().strip('"')


def _extended(pieces: list[tuple[str, bool]]) -> str:
    """Join the pieces of an RFC 2231 value; the charset is in the first, as charset'language'text."""
    charset = "utf-8"
    first, percent = pieces[0]
    if percent and first.count("'") >= 2:  # noqa: PLR2004 -- the two quotes of charset'language'text
        charset, _, rest = first.split("'", 2)
        pieces = [(rest, True), *pieces[1:]]
    data = b"".join(unquote_to_bytes(text) if encoded else text.encode("utf-8", "replace") for text, encoded in pieces)
    return decode_text(data, charset)[0]
