"""Mail as it may arrive: the real and the odd messages, changed as mailers, gateways and senders change them."""

import random
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

CORPUS, TESTS = Path(__file__).parent, Path(__file__).parents[3]
PIECES = (
    b"\x00",
    b"\r\n",
    b"\n\n",
    b"\r",
    b"--",
    b'"',
    b"(",
    b")",
    b"<",
    b">",
    b",",
    b";",
    b"@",
    b"=",
    b"\\",
    b"\x1b$B",
    b"\x1b(B",
    b"=?utf-8?Q?a?b?=",
    b"=?utf-8?b?",
    b"?=",
    b"=?iso-2022-jp?B?GyRCRnxLXBsoQg==?=",
    b"\xff",
    b"\xc3",
    b"\xe6\x97\xa5",
    b"\x93\xfa",
    b"; charset*=ansi-x3.4-1968''utf-8",
    b"; filename*0*=utf-8''%C3; filename*1*=%A4.pdf",
    b"; name=a b.pdf",
    b"; boundary=b",
    b"Content-Type: text/html; charset=utf-16\n",
    b"Content-Type: multipart/alternative; boundary=b\n\n--b\n",
    b"Content-Transfer-Encoding: (x) base64\n",
    b"Auto-Submitted: (vacation) auto-replied\n",
    b"Message-ID: bare@x.example\n",
    b"Authentication-Results: mx.google.com; dmarc=pass (\n",
    b'To: Tim O"Brien <tim@a.example>, "Doe, Jane" <j@a.example>\n',
    b"<p style='display:none;font-size:0'>",
    b"</p></div>",
    b"<!--",
    b"<template>",
    b"<style>p{color:#fff}</style>",
    b"&#x110000;",
    b"\n\n--b\nContent-Type: text/plain; name=x.txt\nContent-Disposition: inline\n\nwords\n--b--\n",
    b"%00",
    b"\xe2\x80\xae",
)
"""What parsers stumble over."""


@cache
def seeds() -> tuple[bytes, ...]:
    """The real messages and the odd ones."""
    files = sorted([*TESTS.glob("mail/*/*.eml"), *(CORPUS / "odd_mail").glob("*.eml")])
    return tuple(path.read_bytes() for path in files)


def mail_mutants(seed: int, count: int) -> Iterator[bytes]:
    """So many messages, each changed in one to six places; the same ones for the same seed."""
    noise = random.Random(seed)  # noqa: S311  # the same mutants in each run
    for _ in range(count):
        raw = noise.choice(seeds())
        for _ in range(noise.randint(1, 6)):
            raw = noise.choice(CHANGES)(raw, noise)
        yield raw


def _insert(raw: bytes, noise: random.Random) -> bytes:
    at = noise.randint(0, len(raw))
    return raw[:at] + noise.choice(PIECES) * noise.choice((1, 1, 1, 2, 40)) + raw[at:]


def _insert_in_headers(raw: bytes, noise: random.Random) -> bytes:
    at = noise.randint(0, min(len(raw), raw.find(b"\n\n") % (len(raw) + 1)))
    return raw[:at] + noise.choice(PIECES) + raw[at:]


def _flip(raw: bytes, noise: random.Random) -> bytes:
    changed = bytearray(raw)
    for _ in range(noise.randint(1, 20) if raw else 0):
        changed[noise.randrange(len(raw))] = noise.randrange(256)
    return bytes(changed)


def _cut(raw: bytes, noise: random.Random) -> bytes:
    start, stop = sorted((noise.randint(0, len(raw)), noise.randint(0, len(raw))))
    return noise.choice((raw[:stop], raw[start:], raw[:start] + raw[stop:]))


def _swap_lines(raw: bytes, noise: random.Random) -> bytes:
    lines = raw.split(b"\n")
    first, second = noise.randrange(len(lines)), noise.randrange(len(lines))
    lines[first], lines[second] = lines[second], lines[first]
    return b"\n".join(lines)


def _double_line(raw: bytes, noise: random.Random) -> bytes:
    lines = raw.split(b"\n")
    lines.insert(noise.randrange(len(lines)), noise.choice(lines))
    return b"\n".join(lines)


def _other_body(raw: bytes, noise: random.Random) -> bytes:
    other = noise.choice(seeds())
    return raw[: raw.find(b"\n\n") + 2] + other[other.find(b"\n\n") + 2 :]


def _other_charset(raw: bytes, noise: random.Random) -> bytes:
    charset = noise.choice((b"utf-8", b"utf-16", b"iso-2022-jp", b"gb2312", b"koi8-r", b"klingon", b"big5", b"utf-7"))
    return raw.replace(noise.choice((b"us-ascii", b"iso-8859-1", b"windows-1252", b"utf-8")), charset)


def _other_ends(raw: bytes, noise: random.Random) -> bytes:
    return raw.replace(b"\n", noise.choice((b"\r\n", b"\r", b"\n \n", b"\n\t")))


def _wrapped(raw: bytes, noise: random.Random) -> bytes:
    kind = noise.choice((b"mixed", b"alternative", b"related", b"signed", b"report", b"digest", b"x-odd"))
    head, body = b"Content-Type: multipart/" + kind + b"; boundary=w\n\n", b"--w\n" + raw + b"\n--w\n\nmore\n--w--\n"
    return b"From: a@b.example\n" + head + body


CHANGES: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    _insert, _insert, _insert_in_headers, _insert_in_headers, _flip, _cut, _swap_lines, _double_line, _other_body,
    _other_charset, _other_ends, _wrapped,
)  # fmt: skip
