"""Drafts and sending through the real client, with every pitfall of a mail that must be sent once."""

from typing import Any

import pytest
from googleapiclient.errors import HttpError

from sandbox.emulator.control import GmailAccount, GmailControl
from tests.sandbox.letters import draft_body, encoded, letter, reply
from tests.sandbox.sdk import GmailUsers


def history_since(users: GmailUsers, start: int) -> list[dict[str, Any]]:
    answer = users.history().list(userId="me", startHistoryId=str(start)).execute()
    assert "nextPageToken" not in answer
    return list(answer.get("history", []))


def test_update_changes_the_message_id_and_keeps_the_draft_id(users: GmailUsers, account: GmailAccount) -> None:
    place = account.deliver(letter())
    draft = users.drafts().create(userId="me", body=draft_body(reply(), place.thread_id)).execute()
    start = account.state().history_id
    updated = (
        users.drafts()
        .update(userId="me", id=draft["id"], body=draft_body(reply(text="Other words\n"), place.thread_id))
        .execute()
    )
    assert updated["id"] == draft["id"]
    assert updated["message"]["id"] != draft["message"]["id"]
    assert updated["message"]["threadId"] == place.thread_id
    deleted, added = history_since(users, start)
    assert deleted["messagesDeleted"][0]["message"]["id"] == draft["message"]["id"]
    assert added["messagesAdded"][0]["message"] == {
        "id": updated["message"]["id"], "threadId": place.thread_id, "labelIds": ["DRAFT"],
    }  # fmt: skip
    with pytest.raises(HttpError) as gone:
        users.messages().get(userId="me", id=draft["message"]["id"]).execute()
    assert gone.value.status_code == 404


def test_update_without_the_thread_falls_out_of_it(users: GmailUsers, account: GmailAccount) -> None:
    place = account.deliver(letter())
    draft = users.drafts().create(userId="me", body=draft_body(reply(), place.thread_id)).execute()
    updated = users.drafts().update(userId="me", id=draft["id"], body=draft_body(reply())).execute()
    assert updated["message"]["threadId"] not in (place.thread_id, draft["message"]["threadId"])


def test_send_consumes_the_draft_and_gives_a_third_message_id(users: GmailUsers, account: GmailAccount) -> None:
    place = account.deliver(letter())
    draft = users.drafts().create(userId="me", body=draft_body(reply(), place.thread_id)).execute()
    start = account.state().history_id
    sent = users.drafts().send(userId="me", body={"id": draft["id"]}).execute()
    assert sent["labelIds"] == ["SENT"]
    assert sent["threadId"] == place.thread_id
    assert sent["id"] != draft["message"]["id"]
    kinds = [next(key for key in record if key.startswith("messages") and key != "messages")
             for record in history_since(users, start)]  # fmt: skip
    assert kinds == ["messagesDeleted", "messagesAdded"]
    for call in (
        users.drafts().send(userId="me", body={"id": draft["id"]}),
        users.drafts().get(userId="me", id=draft["id"]),
    ):
        with pytest.raises(HttpError) as refused:
            call.execute()
        assert refused.value.status_code == 404
    assert users.drafts().list(userId="me").execute() == {"resultSizeEstimate": 0}


@pytest.mark.parametrize("resource", ["drafts", "messages"])
def test_the_message_id_is_rewritten_at_send_and_the_old_one_is_nowhere(
    users: GmailUsers, account: GmailAccount, resource: str
) -> None:
    raw = reply(X_Token="kept-7")
    if resource == "drafts":
        draft = users.drafts().create(userId="me", body=draft_body(raw)).execute()
        sent = users.drafts().send(userId="me", body={"id": draft["id"]}).execute()
    else:
        sent = users.messages().send(userId="me", body={"raw": encoded(raw)}).execute()
    out = account.raw(sent["id"])
    assert b"mine@postroom.example.com" not in out
    assert b"X-Token: kept-7" in out
    assert out.endswith(b"Friday is fine.\n")
    shown = (
        users.messages()
        .get(userId="me", id=sent["id"], format="metadata", metadataHeaders=["Message-ID"])
        .execute()["payload"]["headers"]
    )
    assert [header["name"] for header in shown] == ["Message-ID"]
    assert shown[0]["value"].endswith("@mail.gmail.com>")
    assert "messages" not in users.messages().list(userId="me", q="rfc822msgid:mine@postroom.example.com").execute()
    found = users.messages().list(userId="me", q=f"rfc822msgid:{shown[0]['value']}").execute()
    assert [each["id"] for each in found["messages"]] == [sent["id"]]


def test_a_from_that_is_not_owned_becomes_the_account(users: GmailUsers, control: GmailControl) -> None:
    account = control.create_account(
        "reader@example.com",
        "access-1",
        "refresh-1",
        aliases={"desk@example.com": "accepted", "new@example.com": "pending"},
    )
    senders = {}
    for address in ("desk@example.com", "new@example.com", "boss@example.org"):
        raw = letter(sender=f"Reader <{address}>", to="ana@example.org")
        sent = users.messages().send(userId="me", body={"raw": encoded(raw)}).execute()
        message = account.state().message(sent["id"])
        assert message is not None
        senders[address] = message["sender"]
    assert senders == {
        "desk@example.com": "Reader <desk@example.com>",
        "new@example.com": "Reader <reader@example.com>",
        "boss@example.org": "Reader <reader@example.com>",
    }
    aliases = users.settings().sendAs().list(userId="me").execute()["sendAs"]
    assert [each.get("verificationStatus") for each in aliases] == [None, "accepted", "pending"]


@pytest.mark.parametrize(
    ("raw", "ghost"),
    [
        (reply(), False),
        (reply(reply_to=None), True),
        (reply("Something else"), True),
        (reply(reply_to="<stranger@example.org>"), True),
    ],
)
def test_a_draft_with_the_thread_id_alone_is_a_ghost(
    users: GmailUsers, account: GmailAccount, raw: bytes, *, ghost: bool
) -> None:  # a parameter
    place = account.deliver(letter())
    draft = users.drafts().create(userId="me", body=draft_body(raw, place.thread_id)).execute()
    assert draft["message"]["threadId"] == place.thread_id
    assert [each["ghost"] for each in account.state().drafts] == [ghost]


def test_a_thread_that_is_not_there_is_refused(users: GmailUsers) -> None:
    with pytest.raises(HttpError) as refused:
        users.drafts().create(userId="me", body=draft_body(reply(), "1" * 16)).execute()
    assert refused.value.status_code == 404


def test_a_draft_message_carries_no_label_but_draft(users: GmailUsers, account: GmailAccount) -> None:
    place = account.deliver(letter())
    draft = users.drafts().create(userId="me", body=draft_body(reply(), place.thread_id)).execute()
    message_id = draft["message"]["id"]
    with pytest.raises(HttpError) as refused:
        users.messages().modify(userId="me", id=message_id, body={"addLabelIds": ["STARRED"]}).execute()
    assert refused.value.status_code == 400
    users.threads().modify(userId="me", id=place.thread_id, body={"addLabelIds": ["STARRED"]}).execute()
    message = account.state().message(message_id)
    assert message is not None
    assert message["label_ids"] == ["DRAFT"]


@pytest.mark.parametrize("label", ["SENT", "DRAFT", "Label_nowhere"])
@pytest.mark.parametrize("direction", ["addLabelIds", "removeLabelIds"])
def test_fixed_and_unknown_labels_cannot_be_changed(
    users: GmailUsers, account: GmailAccount, label: str, direction: str
) -> None:
    place = account.deliver(letter())
    with pytest.raises(HttpError) as refused:
        users.messages().modify(userId="me", id=place.message_id, body={direction: [label]}).execute()
    assert refused.value.status_code == 400
    assert refused.value.reason == f"Invalid label: {label}"


def test_a_wrapper_around_the_sent_message_may_linger(users: GmailUsers, account: GmailAccount) -> None:
    account.turn(sent_wrapper_gets=1)
    draft = users.drafts().create(userId="me", body=draft_body(reply())).execute()
    sent = users.drafts().send(userId="me", body={"id": draft["id"]}).execute()
    wrapper = users.drafts().get(userId="me", id=draft["id"]).execute()
    assert wrapper["message"]["id"] == sent["id"]
    assert wrapper["message"]["labelIds"] == ["SENT"]
    with pytest.raises(HttpError) as gone:
        users.drafts().get(userId="me", id=draft["id"]).execute()
    assert gone.value.status_code == 404


def test_the_person_edits_sends_and_discards(users: GmailUsers, account: GmailAccount) -> None:
    place = account.deliver(letter())
    draft = users.drafts().create(userId="me", body=draft_body(reply(), place.thread_id)).execute()
    edited = account.edit_draft(draft["id"], text="By hand.\n")
    assert edited.thread_id == place.thread_id
    assert edited.message_id != draft["message"]["id"]
    shown = users.drafts().get(userId="me", id=draft["id"], format="full").execute()
    assert shown["message"]["snippet"] == "By hand."
    moved = account.edit_draft(draft["id"], subject="Dinner instead")
    assert moved.thread_id != place.thread_id
    sent = account.send_draft(draft["id"])
    assert sent.thread_id == moved.thread_id
    other = users.drafts().create(userId="me", body=draft_body(reply())).execute()
    account.discard_draft(other["id"])
    assert account.state().drafts == []


@pytest.mark.parametrize(
    ("to", "reason"),
    [("", "Recipient address required"), ("nobody", "Invalid To header"),
     (", ".join(f"r{number}@example.org" for number in range(501)), "Too many recipients")],
)  # fmt: skip
def test_recipients_are_checked_at_send(users: GmailUsers, to: str, reason: str) -> None:
    with pytest.raises(HttpError) as refused:
        users.messages().send(userId="me", body={"raw": encoded(letter(to=to))}).execute()
    assert (refused.value.status_code, refused.value.reason) == (400, reason)


def test_a_message_too_large_is_refused(users: GmailUsers, account: GmailAccount) -> None:
    account.turn(largest_message=1_000)
    with pytest.raises(HttpError) as refused:
        users.drafts().create(userId="me", body=draft_body(reply(text="x" * 2_000 + "\n"))).execute()
    assert refused.value.status_code == 413
