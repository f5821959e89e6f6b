"""Messages come back as they were parsed, are stored once, and tell whom the account knows."""

from dataclasses import replace
from datetime import timedelta
from email import message_from_bytes
from email.policy import SMTP
from itertools import product
from uuid import uuid4

import pytest
from psycopg import Connection

from domain.jobs.failures import Gone
from domain.mail.parsing.mime import parse_message
from storage.mail import decisions, messages
from storage.mail.messages import Direction, WaitingMessage
from storage.postgres.database import Database
from tests.doubles.mail_factories import NOON, RAW, WANTS_ANSWER, make_account, make_message, store_message


def test_a_message_comes_back_as_it_was(store: Database) -> None:
    account = make_account(store)
    message = store_message(store, account)
    with store.tenant(account.org_id) as tx:
        assert messages.get(tx, account.account_id, "m1") == message


WORST = (
    b"",
    b"\x00\x00\x00",
    b"no headers at all",
    b"Subject: \x00nul\r\nFrom: a\x00@example.org\r\n\r\nbo\x00dy",
    b"Subject: =?utf-8?b?8J+YgA==?= \xff\xfe\r\nContent-Type: text/plain; charset=klingon\r\n\r\n\xff\xfe\xfd",
    b"To: " + b", ".join(b"r%d@example.org" % n for n in range(10_000)) + b"\r\nSubject: all\r\n\r\nhi",
    b"X-Long: " + b"x" * 100_000 + b"\r\nSubject: " + b"s" * 5_000 + b"\r\n\r\n" + b"y" * 1_000_000,
    b"From: <" + b"a" * 400 + b"@example.org>\r\n\r\nhi",
    b"Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/html\r\n\r\n<p>caf\xc3\xa9\r\n",
)


def test_the_worst_mail_is_stored_and_comes_back(store: Database) -> None:
    account = make_account(store)
    directions: tuple[Direction, Direction] = ("incoming", "outgoing")
    for number, (raw, direction) in enumerate(product(WORST, directions)):
        message = make_message(f"m{number}", raw=raw, direction=direction)
        store_message(store, account, message)
        with store.tenant(account.org_id) as tx:
            back = messages.get(tx, account.account_id, f"m{number}")
        assert back.parsed == message.parsed, raw[:80]


def test_storing_again_changes_the_labels_only(store: Database, database: Connection) -> None:
    account = make_account(store)
    first = make_message()
    second = replace(first, label_ids=frozenset({"SENT"}), automation=None, direction="outgoing")
    with store.tenant(account.org_id) as tx:
        assert [messages.upsert(tx, account.account_id, one).answer for one in (first, second)] == [True, False]
        assert messages.get(tx, account.account_id, "m1") == replace(first, label_ids=frozenset({"SENT"}))
    assert database.execute("select count(*) from messages").fetchone() == (1,)


def test_what_is_unknown_comes_in_the_asked_order(store: Database) -> None:
    account, other = make_account(store), make_account(store, email="you@example.com")
    store_message(store, account)
    store_message(store, other, make_message("m9"))
    with store.tenant(account.org_id) as tx:
        assert messages.unknown_of(tx, account.account_id, ["m9", "m1", "a", "m9"]) == ("m9", "a")
        assert messages.unknown_of(tx, account.account_id, []) == ()


def test_a_thread_gives_its_latest_messages_oldest_first(store: Database, database: Connection) -> None:
    account = make_account(store)
    for minutes in (5, 1, 3):
        store_message(store, account, make_message(f"m{minutes}", minutes=minutes))
    store_message(store, account, make_message("other", "t2", minutes=4))
    with store.tenant(account.org_id) as tx:
        found = messages.of_thread(tx, account.account_id, "t1", limit=2)
    assert [one.message_id for one in found] == ["m3", "m5"]
    span = database.execute(
        "select last_message_at - first_message_at from threads where gmail_thread_id = 't1'"
    ).fetchone()
    assert span == (timedelta(minutes=4),)


def test_correspondents_are_those_before(store: Database) -> None:
    account = make_account(store)
    store_message(store, account)
    reply = b"From: me@example.com\r\nTo: Bob@Example.org\r\nCc: ada@example.org\r\n\r\nhi\r\n"
    store_message(store, account, make_message("m2", raw=reply, direction="outgoing", minutes=5))
    everyone = {"ADA@example.org", "bob@example.org", "nobody@example.org"}
    with store.tenant(account.org_id) as tx:
        known = [
            messages.known_correspondents(tx, account.account_id, everyone, before=NOON + timedelta(minutes=minutes))
            for minutes in (0, 1, 6)
        ]
    assert [one.answer for one in known] == [
        {},
        {"ada@example.org": False},
        {"ada@example.org": True, "bob@example.org": True},
    ]


def test_labels_follow_the_mailbox(store: Database) -> None:
    account = make_account(store)
    store_message(store, account)
    with store.tenant(account.org_id) as tx:
        changed = messages.change_labels(
            tx, account.account_id, ["m1", "unknown"], add={"Label_1", "INBOX"}, remove={"UNREAD", "STARRED"}
        ).answer
    assert {one: found.after for one, found in changed.items()} == {"m1": {"INBOX", "Label_1"}}
    assert "INBOX" not in changed["m1"].before - changed["m1"].after


def test_a_deleted_message_is_gone_and_still_known(store: Database) -> None:
    account = make_account(store)
    store_message(store, account)
    with store.tenant(account.org_id) as tx:
        assert messages.mark_deleted(tx, account.account_id, ["m1", "unknown"]) == {"m1"}
        assert messages.mark_deleted(tx, account.account_id, ["m1"]) == frozenset()
        assert messages.unknown_of(tx, account.account_id, ["m1"]) == ()
        with pytest.raises(Gone):
            messages.get(tx, account.account_id, "m1")


def test_the_full_sync_finds_what_nobody_decided(store: Database) -> None:
    account = make_account(store)
    for message in (
        make_message("old", minutes=-600),
        make_message("decided"),
        replace(make_message("archived"), label_ids=frozenset({"UNREAD"})),
        make_message("mine", direction="outgoing"),
        make_message("open"),
    ):
        store_message(store, account, message)
    with store.tenant(account.org_id) as tx:
        decisions.record(tx, account.account_id, "decided", WANTS_ANSWER)
        found = messages.unclassified(tx, account.account_id, since=NOON - timedelta(hours=1), asked="a model")
    assert found == (WaitingMessage("open", NOON, newly_asked=False),)


def test_an_unknown_account_stores_nothing(store: Database) -> None:
    account = make_account(store)
    with pytest.raises(Gone), store.tenant(account.org_id) as tx:
        messages.upsert(tx, uuid4(), make_message())


def test_the_sample_is_a_message_the_standard_library_reads_alike() -> None:
    assert message_from_bytes(RAW, policy=SMTP)["Subject"] == parse_message(RAW).subject == "Lunch?"
