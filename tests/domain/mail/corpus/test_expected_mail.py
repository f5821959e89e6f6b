"""Real and odd messages are read as a person reads them."""

from itertools import chain
from pathlib import Path

import pytest

from domain.mail.parsing.mime import parse_message
from domain.mail.parsing.parsed_message import Defect
from domain.mail.triage.automation import detect_automation
from tests.domain.mail.corpus.expected_mail import REAL, Read
from tests.domain.mail.corpus.expected_odd_mail import ODD
from tests.domain.mail.corpus.mutants import CORPUS, TESTS

ROWS = [
    *((CORPUS / "odd_mail" / f"{name}.eml", expected) for name, expected in ODD.items()),
    *((TESTS / "mail" / f"{name}.eml", expected) for name, expected in REAL.items()),
]


def test_every_odd_message_and_forty_others_are_expected() -> None:
    assert {path.stem for path in (CORPUS / "odd_mail").glob("*.eml")} == set(ODD)
    assert len(REAL) >= 35
    assert len(ROWS) >= 53


@pytest.mark.parametrize(("path", "expected"), ROWS, ids=[f"{path.parent.name}/{path.stem}" for path, _ in ROWS])
def test_a_message_is_read_as_a_person_reads_it(path: Path, expected: Read) -> None:
    message = parse_message(path.read_bytes())
    assert message.text.startswith(expected.begins)
    assert message.text.endswith(expected.ends)
    assert expected.begins != expected.ends or message.text == expected.begins or not expected.begins
    assert all(words in message.text for words in expected.holds)
    assert not any(words in message.text for words in expected.lacks)
    if expected.sender is not None:
        assert message.from_ is not None
        assert (message.from_.name, message.from_.address) == expected.sender
    if expected.to:
        assert tuple(one.address for one in message.to) == expected.to
        assert tuple(one.address for one in message.cc) == expected.cc
    assert expected.subject in {"", message.subject}
    assert tuple(one.filename for one in message.attachments) == expected.files
    assert expected.kind in {"", detect_automation(message).kind}


@pytest.mark.parametrize("path", sorted(chain((TESTS / "mail").glob("*/*.eml"), (CORPUS / "odd_mail").glob("*.eml"))))
def test_a_message_has_no_marks_of_its_transport(path: Path) -> None:
    """What holds for each: no part's header, boundary or encoding is text, and what was hidden is noted."""
    message = parse_message(path.read_bytes())
    assert not message.text.startswith(("--=", "Content-"))
    assert "=3D\n" not in message.text
    assert "\r" not in message.text
    assert "=?" not in message.subject
    assert all(one.address.count("@") == 1 for one in (*message.to, *message.cc, *message.reply_to))
    assert len(message.text) < 200_000
    assert Defect.TRUNCATED_TEXT not in message.defects
