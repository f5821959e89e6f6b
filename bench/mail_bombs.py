"""Messages that are made to cost: each kind for any size, and what a change makes of a real message."""

import base64
import random
from collections.abc import Callable, Iterator, Mapping

HEAD = b"From: a@example.org\n"


def _headers(name: bytes, piece: bytes) -> Callable[[int], bytes]:
    return lambda size: HEAD + name + b": " + piece * (size // len(piece)) + b"\n\nbody\n"


def _many(line: bytes) -> Callable[[int], bytes]:
    return lambda size: HEAD + line * (size // len(line)) + b"\nbody\n"


def _page(piece: bytes) -> Callable[[int], bytes]:
    return lambda size: HEAD + b"Content-Type: text/html\n\nbody" + piece * (size // len(piece))


def _multipart(piece: bytes) -> Callable[[int], bytes]:
    return lambda size: HEAD + b"Content-Type: multipart/mixed; boundary=b\n\n" + piece * (size // len(piece))


def nested(size: int, depth: int | None = None) -> bytes:
    """Multiparts in each other, down to the end of the message."""
    level = b"Content-Type: multipart/mixed; boundary=b%06d\n\n--b%06d\n"
    count = size // len(level % (0, 0)) if depth is None else depth
    return HEAD + b"".join(level % (number, number) for number in range(count)) + b"\nbottom"


def wide(size: int) -> bytes:
    """Multiparts in each other, all of them around the same large body, with look-alikes of their boundaries in it."""
    levels = b"".join(b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (n, n) for n in range(18))
    return HEAD + levels + b"\n" + b"x--b0 --b17 --b\n" * (size // 16)


def charset_per_word(size: int) -> bytes:
    """Encoded words, each in a charset with a name of its own."""
    words = b"".join(b" =?x-%06d?q?=41?=" % number for number in range(size // 19))
    return HEAD + b"Subject:" + words + b"\nTo:" + words + b" <b@example.org>\n\nbody\n"


def recipients(size: int) -> bytes:
    """Recipients of a letter to everybody."""
    return HEAD + b"To: " + b",\n ".join(b"p%06d@example.org" % number for number in range(size // 22)) + b"\n\nbody\n"


def words_in_parts(size: int) -> bytes:
    """Attachments whose names are encoded words."""
    name = b"".join(b"=?x-%04d?q?=41?=" % number for number in range(100))
    part = b"--b\nContent-Type: image/png; name*0=x\nContent-Disposition: attachment; filename=" + name + b"\n\nx\n"
    return HEAD + b"Content-Type: multipart/mixed; boundary=b\n\n" + part * max(1, size // len(part)) + b"--b--\n"


BOMBS: Mapping[str, Callable[[int], bytes]] = {
    "charset per word": charset_per_word,
    "recipients": recipients,
    "nested multiparts": nested,
    "wide multiparts": wide,
    "names in words": words_in_parts,
    "comments": _headers(b"To", b"("),
    "commas": _headers(b"Cc", b","),
    "quotes": _headers(b"From", b'"\\'),
    "angles": _headers(b"To", b"<a"),
    "mailboxes": _headers(b"To", b'"a"<a@b>,'),
    "bare mailboxes": _headers(b"To", b"a@b;"),
    "empty groups": _headers(b"From", b"a;"),
    "no addresses": _headers(b"To", b"abcdefgh"),
    "references": _headers(b"References", b"<a@b>"),
    "parameters": _headers(b"Content-Type", b";a*0*=b"),
    "results": _many(b"Authentication-Results: mx; a=b c=d (e=f\n"),
    "fields": _many(b"A: b\n"),
    "foreign fields": _many(b"A: \xf0\xd2\xc9\xd7\xc5\xd4 \xc4\xd2\xd5\xc7\n"),
    "auto-submitted": _many(b"Auto-Submitted: x%d\n"),
    "folds": _many(b" z\n"),
    "long line": _headers(b"Subject", b"x"),
    "delimiters": _multipart(b"--b"),
    "parts": _multipart(b"--b\n\npart\n"),
    "calendars": _multipart(b"--b\nContent-Type: text/calendar\n\nx\n"),
    "tags": _page(b'<a "'),
    "never closed": _page(b"<svg><title><select>"),
    "references of characters": _page(b"&#99999;&a"),
    "digits": _page(b"&#9"),
    "block quotes": _page(b"<blockquote>x"),
    "comments of a page": _page(b"<!--"),
    "marked sections": _page(b"<![<"),
    "formatting": _page(b"<b>x"),
    "styled paragraphs": _page(b"<p style=color:red>x"),
    "style sheets": _page(b"<style>a,b{color:red}</style>"),
    "lines of a page": _page(b"<pre>\n\n"),
    "attributions": lambda size: HEAD + b"\n" + b"> x\nOn Monday, Bob wrote:\n" * (size // 27),
    "dashes": lambda size: HEAD + b"\n" + b"-" * size,
    "opting out": lambda size: HEAD + b"\n" + b"removed from the a " * (size // 19),
}  # fmt: skip


def mutants(raw: bytes, noise: random.Random) -> Iterator[tuple[str, bytes]]:
    """What may become of a real message on its way: cut, flipped, and made larger than anybody writes."""
    yield "cut", raw[: noise.randrange(len(raw) + 1)]
    yield "headless", raw[noise.randrange(len(raw) + 1) :]
    flipped = bytearray(raw)
    for _ in range(max(1, len(raw) // 100)):
        flipped[noise.randrange(len(raw))] = noise.randrange(256)
    yield "flipped", bytes(flipped)
    yield "recipients", b"Cc: " + b", ".join(b"p%d@example.org" % number for number in range(50_000)) + b"\n" + raw
    levels = (b"Content-Type: multipart/mixed; boundary=x%d\n\n--x%d\n" % (number, number) for number in range(1_000))
    yield "nested", HEAD + b"".join(levels) + raw
    text = raw.decode("latin-1").split()
    words = (b"=?x-%d?b?%s?=" % (n, base64.b64encode(word.encode())) for n, word in enumerate(text))
    yield "charset per word", b"Subject: " + b" ".join(words) + b"\n" + raw


def huge(raw: bytes, size: int = 25 * 1024 * 1024) -> bytes:
    """A message with so many of its own bodies that Gmail would just take it."""
    return raw + raw[raw.find(b"\n\n") :] * (size // max(1, len(raw)))
