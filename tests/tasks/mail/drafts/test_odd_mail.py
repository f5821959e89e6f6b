"""Mail with odd headers gets its draft, in its thread; what nobody can answer is found before a model is paid."""

import pytest

from domain.mail.correspondence import EmailState
from domain.mail.parsing.mime import parse_message
from sandbox.emulator.control import MessagePlace
from tests.doubles.mail_environment import MailEnvironment

HEAD = b"To: owner@postroom.example\r\nContent-Type: text/plain; charset=utf-8\r\n"
ASKS = b"Can you tell me whether Tuesday suits you? Please reply.\r\n"
LONG = b"Question about the contract " * 13


def delivered(env: MailEnvironment, headers: bytes) -> MessagePlace:
    env.sync()
    place = env.mailbox.deliver(headers + b"\r\n" + HEAD + b"\r\n" + ASKS)
    env.sync()
    return place


@pytest.mark.parametrize(
    ("headers", "to"),
    [
        (b"From: Ann <ann@a.example>\r\nSubject: =?utf-8?q?Question=0B_about_Tuesday?=", "ann@a.example"),
        (b"From: Ann <ann@a.example>\r\nSubject: " + LONG.strip(), "ann@a.example"),
        (b"From: Ann <try..this@docomo.ne.jp>\r\nSubject: Hello", '"try..this"@docomo.ne.jp'),
        ("From: Ann <info@bücher.example>\r\nSubject: Hello".encode(), "info@xn--bcher-kva.example"),
    ],
    ids=["control character", "long subject", "dots", "domain in other letters"],
)
def test_mail_with_an_odd_header_gets_a_draft_in_its_thread(env: MailEnvironment, headers: bytes, to: str) -> None:
    place = delivered(env, b"Message-ID: <m1@a.example>\r\n" + headers)
    assert env.state(place.thread_id) is EmailState.DRAFTED
    (draft,) = env.mailbox.state().drafts
    assert (draft["thread_id"], draft["ghost"]) == (place.thread_id, False)
    made = parse_message(draft["raw"].encode())
    assert [one.address for one in made.to] == [to]
    assert made.in_reply_to == "<m1@a.example>"


def test_an_address_that_no_mail_can_be_sent_to_costs_no_words(env: MailEnvironment) -> None:
    place = delivered(env, "Message-ID: <m1@a.example>\r\nSubject: Hello\r\nFrom: Jörg <jörg@a.example>".encode())
    asked = env.model.journal("messages.create")
    assert len(asked) == 1, "the classification; no draft was written"
    assert env.state(place.thread_id) is not EmailState.DRAFTED
    assert env.mailbox.state().drafts == []
    told = env.count(
        "select count(*) from jobs where job_type = 'drafts.write' and strpos(output->>'why', 'ASCII') > 0"
    )
    assert told == 1
