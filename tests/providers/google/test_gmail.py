"""Gmail's answers become mailbox values, and calls become the requests that Gmail documents."""

import base64
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import googleapiclient
import pytest

from domain.jobs.failures import CallState, Gone, Scope, Throttled, Transient
from domain.mail.mailbox import Change, Draft, MailboxLabel, MessageRef
from providers.google.gmail import GmailMailbox
from providers.google.gmail_quota import DEAREST, UNITS, units
from providers.ports import Mailbox
from tests.doubles.factories import unmetered
from tests.providers.wire import Seen, Wire, reply

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
RAW = b"From: ada@example.com\r\nSubject: \xff>?\r\n\r\nbody"
MESSAGE: dict[str, Any] = {
    "id": "m1",
    "threadId": "t1",
    "historyId": "18446744073709551615",
    "internalDate": "1761998400123",
    "labelIds": ["INBOX", "UNREAD"],
}


def opened(wire: Wire, meter: Callable[[str, int], None] = unmetered) -> GmailMailbox:
    return GmailMailbox(
        account="account-1", access_token="token", timeout_s=5, endpoint=wire.url, clock=lambda: NOW, meter=meter
    )


def answer_of(body: object, call: str, *arguments: object, **named: object) -> tuple[Any, Seen]:
    with Wire(reply(200, body)) as wire, opened(wire) as gmail:
        result = getattr(gmail, call)(*arguments, **named)
        (seen,) = wire.seen
        return result, seen


def test_it_is_a_mailbox() -> None:
    with Wire(reply(200, {})) as wire, opened(wire) as gmail:
        mailbox: Mailbox = gmail
        assert mailbox is gmail


def test_profile() -> None:
    profile, seen = answer_of({"emailAddress": "ada@example.com", "historyId": "900"}, "profile")
    assert (profile.email, profile.history_id) == ("ada@example.com", 900)
    assert (seen.method, seen.target) == ("GET", "/gmail/v1/users/me/profile?alt=json")


def test_history_reads_the_specific_lists_and_not_their_repetition() -> None:
    body = {
        "history": [
            {
                "id": "9",
                "messages": [{"id": "m1", "threadId": "t1"}],
                "messagesAdded": [{"message": {"id": "m1", "threadId": "t1", "labelIds": ["INBOX"]}}],
            },
            {
                "id": "10",
                "messages": [{"id": "m2", "threadId": "t1"}],
                "labelsAdded": [{"message": {"id": "m2", "threadId": "t1", "labelIds": ["A", "B"]}, "labelIds": ["B"]}],
                "labelsRemoved": [{"message": {"id": "m2", "threadId": "t1"}, "labelIds": ["INBOX"]}],
                "messagesDeleted": [{"message": {"id": "m3", "threadId": "t2"}}],
            },
        ],
        "historyId": "12",
    }
    page, seen = answer_of(body, "history", 8, "page 2")
    assert page.changes == (
        Change(9, "message_added", "m1", "t1", frozenset({"INBOX"})),
        Change(10, "message_deleted", "m3", "t2", frozenset()),
        Change(10, "labels_added", "m2", "t1", frozenset({"B"})),
        Change(10, "labels_removed", "m2", "t1", frozenset({"INBOX"})),
    )
    assert (page.next_page, page.history_id) == (None, 12)
    for part in ("startHistoryId=8", "pageToken=page+2", "maxResults=500", "historyTypes=labelRemoved"):
        assert part in seen.target


def test_a_page_without_history_may_have_a_next_page() -> None:
    page, _ = answer_of({"nextPageToken": "p", "historyId": "12"}, "history", 8)
    assert (page.changes, page.next_page) == ((), "p")


def test_search() -> None:
    page, seen = answer_of(
        {"messages": [{"id": "m1", "threadId": "t1"}], "nextPageToken": "p"},
        "search",
        "is:unread",
        label_ids=["A", "B"],
    )
    assert (page.messages, page.next_page) == ((MessageRef("m1", "t1"),), "p")
    assert "q=is%3Aunread" in seen.target
    assert "labelIds=A&labelIds=B" in seen.target


def test_a_search_that_finds_nothing() -> None:
    page, seen = answer_of({"resultSizeEstimate": 0}, "search", "")
    assert (page.messages, page.next_page) == ((), None)
    assert "q=" not in seen.target


@pytest.mark.parametrize("padded", [True, False])
def test_message(*, padded: bool) -> None:
    raw = base64.urlsafe_b64encode(RAW).decode()
    message, seen = answer_of(
        {**MESSAGE, "raw": raw if padded else raw.rstrip("="), "sizeEstimate": 99}, "message", "m1"
    )
    assert (message.raw, message.size, message.history_id) == (RAW, 99, 18446744073709551615)
    assert message.received_at == datetime(2025, 11, 1, 12, 0, 0, 123000, tzinfo=UTC)
    assert "/messages/m1?format=raw" in seen.target


def test_message_without_labels() -> None:
    bare = {key: value for key, value in MESSAGE.items() if key != "labelIds"}
    facts, _ = answer_of(bare, "message_facts", "m1")
    assert (facts.label_ids, facts.headers) == (frozenset(), {})


def test_headers_are_lower_case_and_keep_the_first_value() -> None:
    headers = [{"name": "Received", "value": "one"}, {"name": "RECEIVED", "value": "two"}, {"name": "To", "value": "x"}]
    facts, seen = answer_of({**MESSAGE, "payload": {"headers": headers}}, "message_facts", "m1")
    assert facts.headers == {"received": "one", "to": "x"}
    assert "format=metadata" in seen.target


def test_thread() -> None:
    thread, _ = answer_of(
        {"id": "t1", "historyId": "5", "messages": [MESSAGE, {**MESSAGE, "id": "m2"}]}, "thread", "t1"
    )
    assert [message.message_id for message in thread.messages] == ["m1", "m2"]


def test_labels() -> None:
    labels, _ = answer_of(
        {"labels": [{"id": "INBOX", "name": "INBOX", "type": "system"}, {"id": "L1", "name": "Done"}]}, "labels"
    )
    assert labels == (MailboxLabel("INBOX", "INBOX", "system"), MailboxLabel("L1", "Done", "user"))


def test_create_label() -> None:
    label, seen = answer_of({"id": "L1", "name": "A/B", "type": "user"}, "create_label", "A/B")
    assert label == MailboxLabel("L1", "A/B", "user")
    assert seen.json == {"name": "A/B", "labelListVisibility": "labelShow", "messageListVisibility": "show"}


@pytest.mark.parametrize(("call", "place"), [("modify_message", "messages"), ("modify_thread", "threads")])
def test_modify(call: str, place: str) -> None:
    labels, seen = answer_of({"id": "x", "threadId": "t1", "labelIds": ["A"]}, call, "x", add=["A"], remove=["B"])
    assert labels == (frozenset({"A"}) if call == "modify_message" else None)
    assert seen.target == f"/gmail/v1/users/me/{place}/x/modify?alt=json"
    assert seen.json == {"addLabelIds": ["A"], "removeLabelIds": ["B"]}


@pytest.mark.parametrize("thread_id", ["t1", None])
def test_a_draft_is_made_of_raw_bytes_in_json(thread_id: str | None) -> None:
    body = {"id": "r1", "message": {"id": "m1", "threadId": "t1", "labelIds": ["DRAFT"]}}
    draft, seen = answer_of(body, "create_draft", RAW, thread_id=thread_id)
    assert draft == Draft("r1", "m1", "t1", frozenset({"DRAFT"}))
    assert draft.is_draft
    assert (seen.method, seen.target) == ("POST", "/gmail/v1/users/me/drafts?alt=json")
    assert base64.urlsafe_b64decode(seen.json["message"]["raw"]) == RAW
    assert seen.json["message"].get("threadId") == thread_id


def test_update_draft() -> None:
    body = {"id": "r1", "message": {"id": "m2", "threadId": "t1"}}
    draft, seen = answer_of(body, "update_draft", "r1", RAW, thread_id="t1")
    assert draft.message_id == "m2"
    assert (seen.method, seen.json["message"]["threadId"]) == ("PUT", "t1")


def test_a_wrapper_around_a_sent_message_is_no_draft() -> None:
    draft, _ = answer_of({"id": "r1", "message": {"id": "m1", "threadId": "t1", "labelIds": ["SENT"]}}, "draft", "r1")
    assert not draft.is_draft


def test_drafts() -> None:
    body = {"drafts": [{"id": "r1", "message": {"id": "m1", "threadId": "t1"}}], "nextPageToken": "p"}
    (drafts, page), _ = answer_of(body, "drafts")
    assert (drafts, page) == ((Draft("r1", "m1", "t1"),), "p")


@pytest.mark.parametrize(("call", "arguments"), [("delete_draft", ["r1"]), ("stop_watch", [])])
def test_an_empty_answer_is_an_answer(call: str, arguments: list[str]) -> None:
    with Wire(reply(204)) as wire, opened(wire) as gmail:
        getattr(gmail, call)(*arguments)
        assert len(wire.seen) == 1


def test_send_draft_takes_ids_and_labels_from_the_one_answer() -> None:
    sent, seen = answer_of({"id": "m9", "threadId": "t1", "labelIds": ["SENT"]}, "send_draft", "r1")
    assert (sent.message_id, sent.label_ids, sent.received_at, sent.history_id) == ("m9", {"SENT"}, NOW, 0)
    assert (seen.target, seen.json) == ("/gmail/v1/users/me/drafts/send?alt=json", {"id": "r1"})


def test_watch() -> None:
    watch, seen = answer_of({"historyId": "5", "expiration": "1761998400123"}, "watch", "projects/p/topics/t")
    assert watch.expires_at == datetime(2025, 11, 1, 12, 0, 0, 123000, tzinfo=UTC)
    assert seen.json == {"topicName": "projects/p/topics/t"}


def test_an_expired_history_id_is_gone() -> None:
    refusal = reply(404, {"error": {"errors": [{"reason": "notFound"}]}})
    with Wire(refusal) as wire, opened(wire) as gmail, pytest.raises(Gone):
        gmail.history(1)


@pytest.mark.parametrize(
    "body", [b"<html>", b"[]", b'{"historyId": "x"}', b'{"historyId": null}', b'"text"', b"\xff", b"[" * 100_000]
)
def test_an_unreadable_answer_is_transient_and_nothing_else(body: bytes) -> None:
    with Wire(reply(200, body)) as wire, opened(wire) as gmail, pytest.raises(Transient) as caught:
        gmail.history(1)
    assert (caught.value.code, caught.value.call_state) == ("gmail.unreadable_answer", CallState.NOT_DONE)


def test_an_unreadable_answer_to_a_send_is_in_doubt() -> None:
    with Wire(reply(200, {})) as wire, opened(wire) as gmail, pytest.raises(Transient) as caught:
        gmail.send_draft("r1")
    assert caught.value.call_state is CallState.IN_DOUBT


def test_the_meter_hears_every_call_first_and_may_forbid_it() -> None:
    heard: list[tuple[str, int]] = []
    with Wire(reply(200, MESSAGE)) as wire, opened(wire, meter=lambda *call: heard.append(call)) as gmail:
        gmail.message_facts("m1")
    assert heard == [("gmail.users.messages.get", 20)]

    def forbid(_method: str, _units: int) -> None:
        raise Throttled("full", retry_after=NOW - NOW, scope=Scope.ACCOUNT, provider="gmail")

    with Wire(reply(200, MESSAGE)) as wire, opened(wire, meter=forbid) as gmail:
        with pytest.raises(Throttled):
            gmail.message_facts("m1")
        assert wire.seen == []


def test_every_metered_method_exists_in_the_bundled_description() -> None:
    description = Path(googleapiclient.__file__).parent / "discovery_cache" / "documents" / "gmail.v1.json"
    text = description.read_text()
    assert [method for method in UNITS if f'"{method}"' not in text] == []
    assert units("gmail.users.unheard.of") == DEAREST
