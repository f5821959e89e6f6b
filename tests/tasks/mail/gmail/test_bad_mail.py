"""Real and hostile mail on its real way, from Gmail through the sync into the tables: taken in, never a crash."""

import resource
from collections.abc import Sequence

import pytest

from settings import Settings
from tests.domain.mail.corpus_report import corpus_files
from tests.doubles.mail_environment import OWNER, MailEnvironment, letter, taken_in

MEGABYTE = 1024 * 1024


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """More of Gmail's units in a minute than a mailbox gets: what is tested here is the mail, not the waiting."""
    return settings.model_copy(update={"rate_limits": {"gmail.user": 1_000_000}})


def take(env: MailEnvironment, raws: Sequence[bytes]) -> set[str]:
    """Deliver and sync; the ids of what was delivered."""
    env.mailbox.turn(quota_per_minute=None)
    env.sync()
    places = [env.mailbox.deliver(raw) for raw in raws]
    env.enqueue("gmail.sync")
    ends = env.drain(only="gmail.%")
    assert {end for _, end in ends} == {"succeeded"}
    return {place.message_id for place in places}


def test_three_hundred_real_messages_are_taken_in_without_an_error(env: MailEnvironment) -> None:
    raws = [path.read_bytes() for path in corpus_files()]
    assert taken_in(env) == set()
    delivered = take(env, raws)
    assert len(delivered) == 300
    assert taken_in(env) == delivered
    assert env.count("select count(*) from dead_letters") == 0
    assert env.count("select count(*) from jobs where job_type = 'gmail.ingest' and attempt > 1") == 0


def test_real_messages_of_every_kind_are_classified(env: MailEnvironment) -> None:
    """Every eighth, of every folder: by the signs of automation or by the model, and drafted where it says so."""
    delivered = take(env, [path.read_bytes() for path in corpus_files()[::8]])
    ends = env.drain()
    assert {end for _, end in ends} == {"succeeded"}
    rows = env.database.execute("select gmail_message_id, source, classification from decisions").fetchall()
    assert {row[0] for row in rows} == delivered
    assert {row[1] for row in rows} == {"deterministic", "llm"}
    assert {row[2] for row in rows} >= {"fyi", "needs_response", "newsletter"}
    assert "needs_review" not in {row[2] for row in rows}
    drafts = env.mailbox.state().drafts
    assert len(drafts) == env.count("select count(*) from emails where state = 'drafted'") > 0
    assert not any(draft["ghost"] for draft in drafts)


HOSTILE = {
    "no headers": b"\r\nJust a body.\r\n",
    "no body": b"From: a@example.com\r\nSubject: nothing",
    "a single line feed": b"\n",
    "nul bytes": b"From: a\x00b@example.com\r\nSubject: nul\x00l\r\nX-Odd: \x00\r\n\r\nbo\x00dy\r\n",
    "nul in an encoded word": b"From: a@example.com\r\nSubject: =?utf-8?b?YQBi?=\r\n\r\nbody\r\n",
    "unknown charset": b"From: a@example.com\r\nContent-Type: text/plain; charset=klingon-1\r\n\r\n\xff\xfe\x80\r\n",
    "absurd charset": b'From: a@example.com\r\nContent-Type: text/plain; charset="../../etc/passwd\x00"\r\n\r\nb\r\n',
    "codec that is no charset": b"From: a@example.com\r\nContent-Type: text/plain; charset=zlib_codec\r\n\r\nb\r\n",
    "lone surrogates": b"From: a@example.com\r\nSubject: =?utf-16?b?2AA=?=\r\n\r\n\xed\xa0\x80\r\n",
    "boundary never closed": b"From: a@example.com\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\n\r\nbody",
    "boundary missing": b"From: a@example.com\r\nContent-Type: multipart/mixed\r\n\r\n--x\r\n\r\nbody\r\n--x--",
    "nested too deep": b"From: a@example.com\r\n" + b"".join(
        b"Content-Type: multipart/mixed; boundary=b%d\r\n\r\n--b%d\r\n" % (depth, depth) for depth in range(300)
    ),
    "base64 that is none": b"From: a@example.com\r\nContent-Transfer-Encoding: base64\r\n\r\n!!!not base64!!!\r\n",
    "two senders": b"From: a@example.com\r\nFrom: b@example.com\r\nSubject: x\r\nSubject: y\r\n\r\nb\r\n",
    "a header of a megabyte": b"From: a@example.com\r\nX-Long: " + b"x" * MEGABYTE + b"\r\n\r\nb\r\n",
    "ten thousand headers": b"From: a@example.com\r\n" + b"X-Odd: 1\r\n" * 10_000 + b"\r\nb\r\n",
    "ten thousand recipients": b"From: a@example.com\r\nTo: "
    + b",\r\n ".join(b"reader%d@example.com" % number for number in range(10_000))
    + b"\r\nSubject: all of you\r\n\r\nb\r\n",
    "an impossible date": b"From: a@example.com\r\nDate: Tue, 99 Foo 99999 99:99:99 +9999\r\n\r\nb\r\n",
    "folded ids": b"From: a@example.com\r\nMessage-ID: <a\r\n b\r\n c>\r\nReferences: <x\r\n\ty>\r\n\r\nb\r\n",
    "an address of a thousand letters": b"From: " + b"a" * 1000 + b"@" + b"b" * 1000 + b".example\r\n\r\nb\r\n",
}  # fmt: skip


def test_hostile_mail_is_taken_in_and_classified(env: MailEnvironment) -> None:
    delivered = take(env, list(HOSTILE.values()))
    assert taken_in(env) == delivered
    ends = env.drain()
    assert {end for _, end in ends} == {"succeeded"}
    assert env.count("select count(distinct gmail_message_id) from decisions") == len(HOSTILE)


def test_of_ten_thousand_readers_of_a_sent_mail_the_first_thousand_are_known_afterwards(env: MailEnvironment) -> None:
    env.sync()
    env.mailbox.deliver(HOSTILE["ten thousand recipients"], label_ids=("SENT",))
    env.sync()
    assert env.count("select count(*) from correspondents where written_at is not null") == 1_000


def test_a_message_without_a_single_byte_is_taken_in(env: MailEnvironment) -> None:
    env.sync()
    place = env.deliver("Empty", "For your information only.")
    facts = {"id": place.message_id, "threadId": place.thread_id, "historyId": "1", "internalDate": "1", "raw": ""}
    env.fail("messages.get", status=200, body={**facts, "labelIds": ["INBOX"]})
    ends = env.sync()
    assert [end for _, end in ends] == ["succeeded"] * 3
    assert taken_in(env) == {place.message_id}


@pytest.mark.parametrize("milliseconds", [0, 1, 253_402_300_799_000])
def test_the_first_and_the_last_moment_are_taken_in(env: MailEnvironment, milliseconds: int) -> None:
    env.sync()
    place = env.mailbox.deliver(letter("Odd time", "For your information only."), internal_date=milliseconds)
    env.sync()
    assert taken_in(env) == {place.message_id}


def test_thirty_megabytes_are_taken_in_within_bounds(env: MailEnvironment) -> None:
    attachment = b"QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZnaGlqa2xtbm9wcXJzdHV2d3h5ejAx\r\n" * (30 * MEGABYTE // 74)
    head = (
        f"From: a@example.com\r\nTo: {OWNER}\r\nSubject: Plans\r\nMIME-Version: 1.0\r\n"
        "Content-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\nContent-Type: text/plain\r\n\r\nFor you.\r\n"
        "--x\r\nContent-Type: application/octet-stream; name=plans.bin\r\nContent-Transfer-Encoding: base64\r\n\r\n"
    )
    raw = head.encode() + attachment + b"--x--\r\n"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    delivered = take(env, [raw])
    assert taken_in(env) == delivered
    assert env.count("select size from messages") > 20 * MEGABYTE
    assert env.count("select pg_column_size(messages.*) from messages") < MEGABYTE
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown * 1024 < 20 * len(raw), "emulator and client together, both in this process"
