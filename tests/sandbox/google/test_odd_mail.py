"""The emulated Gmail shows any mail, as the real one does, and never fails because of it."""

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from sandbox.emulator.clock import EmulatorClock
from sandbox.google.api.resources import FORMATS, message_resource
from sandbox.google.mailbox.mailbox import open_mailbox
from sandbox.google.mailbox.rfc822 import addresses_of, children_of, headers_of, own_id, parts_of, referenced_ids
from tests.domain.mail.corpus.mutants import TESTS, mail_mutants

ODD = sorted((TESTS / "domain" / "mail" / "corpus" / "odd_mail").glob("*.eml"))
SHAPES = (
    b"charset*=ansi-x3.4-1968''utf-8",
    b"charset*0*=utf-8''utf; charset*1=-8",
    b"charset*=klingon'''",
    b"charset=klingon",
    b'charset="',
    b"boundary*=utf-8''b",
)


def show(mails: Iterable[bytes]) -> None:
    mailbox = open_mailbox("owner@box.example", EmulatorClock(), 1, None)
    for raw in mails:
        message = mailbox.deliver(raw)
        for shape in FORMATS:
            assert json.dumps(message_resource(message, shape)).encode()
        headers = headers_of(raw)
        assert all(one.startswith("<") for one in [*referenced_ids(headers), own_id(headers) or "<"])
        addresses_of(headers, "From", "To", "Cc")


@pytest.mark.parametrize("path", ODD, ids=lambda path: path.stem)
def test_odd_mail_is_shown(path: Path) -> None:
    show([path.read_bytes()])


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", [b"text/plain", b"text/html", b"multipart/mixed", b"message/rfc822", b"application/x"])
def test_any_form_of_a_charset_is_shown(shape: bytes, kind: bytes) -> None:
    head = b"From: a@b.example\nContent-Type: " + kind + b"; " + shape
    show([head + b"\n\nGr\xc3\xbc\xc3\x9fe\xff\n", head + b"\nContent-Transfer-Encoding: base64\n\n\xffR3I\n"])


def test_mutants_are_shown() -> None:
    show(mail_mutants(seed=20, count=150))


def test_bare_ids_join_a_thread_as_those_in_brackets_do() -> None:
    bare = headers_of(b"Message-ID: 1@x.example\nIn-Reply-To: =?utf-8?q?=3C2=40x=2Eexample=3E?=\n\n")
    assert own_id(bare) == "<1@x.example>"
    assert referenced_ids(bare) == ["<2@x.example>"]


def test_parts_of_a_part_are_found() -> None:
    whole = parts_of(b"Content-Type: multipart/mixed; boundary=b\n\n--b\n\none\n--b\n\ntwo\n--b--\n")
    assert len(children_of(whole)) == 2
    assert children_of(children_of(whole)[0]) == []
