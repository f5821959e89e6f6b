"""The demo's mailbox is real mail, re-dated and threaded, and unchanged otherwise."""

import email
from collections import Counter
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

import pytest

from sandbox.demo.mail_headers import RawMessage
from sandbox.demo.mailbox_story import MAIL, OWNER, Delivery, read_story, tell_story

NOW = datetime(2026, 11, 2, 9, 30, tzinfo=UTC)


@pytest.fixture(scope="module")
def deliveries() -> list[Delivery]:
    return list(tell_story(NOW))


def test_the_story_uses_every_file_once() -> None:
    assert sorted(message.file for message in read_story()) == sorted(path.name for path in MAIL.glob("*.eml"))


def test_the_groups_are_as_the_readme_says() -> None:
    story = read_story()
    groups = Counter(message.group for message in story)
    assert groups == {"personal": 23, "list": 11, "newsletter": 10, "receipt": 6, "spam": 10}
    assert {message.group for message in story if message.wants_answer} == {"personal"}
    readme = (MAIL / "README.md").read_text()
    assert all(f"| `{group}` | {count} |" in readme for group, count in groups.items())
    assert f"{sum(message.wants_answer for message in story)} of them (`wants_answer`)" in readme


def test_messages_arrive_in_order_within_the_days_a_full_sync_scans(deliveries: list[Delivery]) -> None:
    times = [delivery.at for delivery in deliveries]
    assert times == sorted(times)
    assert times[0] > NOW - timedelta(days=10)
    assert times[-1] < NOW
    for delivery in deliveries:
        assert parsedate_to_datetime(email.message_from_bytes(delivery.raw)["Date"]) == delivery.at


def test_every_message_has_an_id_of_its_own_and_is_addressed_to_the_account(deliveries: list[Delivery]) -> None:
    parsed = [email.message_from_bytes(delivery.raw) for delivery in deliveries]
    in_the_mail = [" ".join(message["Message-ID"].split()) for message in parsed]
    assert in_the_mail == [delivery.message_id for delivery in deliveries]
    assert len({delivery.message_id for delivery in deliveries}) == len(deliveries)
    assert all(message.get_all("Delivered-To") == [OWNER] for message in parsed)
    assert not any(delivery.raw.startswith(b"From ") for delivery in deliveries)


def test_personal_mail_comes_from_a_person_to_the_owner_alone(deliveries: list[Delivery]) -> None:
    personal = [email.message_from_bytes(one.raw) for one in deliveries if one.story.group == "personal"]
    for message in personal:
        assert message["To"] == OWNER
        assert "@" in message["From"]
        assert not str(message["Subject"]).startswith(("[Spambayes]", "[Razor-users]", "[SAtalk]", "[ILUG]", "[SAdev]"))
        assert not [name for name in message if name.lower().startswith(("list-", "x-mailman", "precedence", "sender"))]


def test_mail_of_lists_keeps_what_makes_it_a_list(deliveries: list[Delivery]) -> None:
    lists = [email.message_from_bytes(one.raw) for one in deliveries if one.story.group == "list"]
    assert all(
        message["Precedence"] or message["List-Id"] or message["Mailing-List"] or message["Sender"] for message in lists
    )


def test_a_thread_is_tied_together_and_to_nothing_else(deliveries: list[Delivery]) -> None:
    thread = [one for one in deliveries if one.story.thread == "deployment"]
    parsed = [email.message_from_bytes(one.raw) for one in thread]
    assert [message["In-Reply-To"] for message in parsed] == [None, thread[0].message_id, thread[1].message_id]
    assert parsed[2]["References"].split() == [thread[0].message_id, thread[1].message_id]


def test_bodies_are_the_published_bytes(deliveries: list[Delivery]) -> None:
    for delivery in deliveries:
        published = (MAIL / delivery.story.file).read_bytes().replace(b"\r\n", b"\n")
        body = delivery.raw.replace(b"\r\n", b"\n").partition(b"\n\n")[2]
        assert body == published.partition(b"\n\n")[2]


def test_a_header_is_replaced_in_its_place_with_all_its_folded_lines() -> None:
    raw = b"From x@example.org Mon\nA: 1\nSubject: a long\n\tfolded one\nsubject: again\nB: 2\n\nbody\xff: x\n"
    message = RawMessage.parse(raw)
    assert message.get("SUBJECT") == "a long folded one"
    changed = message.having("Subject", "short").without({"b"})
    assert changed.render() == b"A: 1\r\nSubject: short\r\n\r\nbody\xff: x\r\n"
    assert message.without({"s-*"}).render() == message.render()
    assert RawMessage.parse(b"List-Id: a\nList-Post: b\nC: 3\n\n").without({"list-*"}).headers == (b"C: 3",)


def test_a_message_without_headers_or_body_is_no_error() -> None:
    assert RawMessage.parse(b"").render() == b"\r\n"
    assert RawMessage.parse(b"A: 1\n").having("B", "2").headers == (b"B: 2", b"A: 1")
