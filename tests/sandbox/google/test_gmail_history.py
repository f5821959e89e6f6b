"""History, search and labels through the real client, with the pitfalls of a sync."""

from itertools import pairwise
from typing import Any

import pytest
from googleapiclient.errors import HttpError

from sandbox.emulator.control import GmailAccount, GmailControl
from tests.sandbox.letters import draft_body, letter, reply
from tests.sandbox.sdk import GmailUsers


def listing(users: GmailUsers, start: int, **options: Any) -> dict[str, Any]:  # noqa: ANN401  # passed on to the SDK
    answer: dict[str, Any] = users.history().list(userId="me", startHistoryId=str(start), **options).execute()
    return answer


def test_ids_are_text_with_gaps_and_go_wrong_when_compared_as_text(users: GmailUsers, account: GmailAccount) -> None:
    start = account.state().history_id
    for number in range(20):
        account.deliver(letter(message_id=f"<{number}@example.org>"))
    page = listing(users, start)
    ids = [record["id"] for record in page["history"]]
    numbers = [int(each) for each in ids]
    assert numbers == sorted(numbers)
    assert ids != sorted(ids)
    assert len({after - before for before, after in pairwise(numbers)}) > 5
    assert page["historyId"] == ids[-1] == users.getProfile(userId="me").execute()["historyId"]


def test_ids_use_all_of_64_bits(control: GmailControl, users: GmailUsers) -> None:
    start = 2**63 + 12
    account = control.create_account("reader@example.com", "access-1", "refresh-1", history_id=start)
    account.deliver(letter())
    assert int(listing(users, start)["history"][0]["id"]) > start


def test_a_record_repeats_its_messages(users: GmailUsers, account: GmailAccount) -> None:
    start = account.state().history_id
    place = account.deliver(letter())
    (record,) = listing(users, start)["history"]
    bare = {"id": place.message_id, "threadId": place.thread_id}
    assert record["messages"] == [bare]
    assert record["messagesAdded"] == [{"message": bare | {"labelIds": ["INBOX", "UNREAD"]}}]


def test_an_expired_cursor_is_404(users: GmailUsers, account: GmailAccount) -> None:
    start = account.state().history_id
    account.deliver(letter())
    account.expire_history()
    with pytest.raises(HttpError) as gone:
        listing(users, start)
    assert gone.value.status_code == 404
    assert gone.value.error_details == [
        {"message": "Requested entity was not found.", "domain": "global", "reason": "notFound"}
    ]
    assert "history" not in listing(users, account.state().history_id)


def test_a_page_without_history_may_have_a_next_page(users: GmailUsers, account: GmailAccount) -> None:
    start = account.state().history_id
    account.deliver(letter())
    account.blank_history_pages(1)
    blank = listing(users, start)
    assert "history" not in blank
    page = listing(users, start, pageToken=blank["nextPageToken"])
    assert len(page["history"]) == 1
    assert "nextPageToken" not in page


def test_pages_hold_every_record_once(users: GmailUsers, account: GmailAccount) -> None:
    start = account.state().history_id
    for number in range(5):
        account.deliver(letter(message_id=f"<{number}@example.org>"))
    seen, token, pages = [], None, 0
    while True:
        page = listing(users, start, maxResults=2, pageToken=token)
        seen += [record["id"] for record in page.get("history", [])]
        token, pages = page.get("nextPageToken"), pages + 1
        if token is None:
            break
    assert pages == 3
    assert len(seen) == len(set(seen)) == 5


def test_types_and_label_limit_the_listing(users: GmailUsers, account: GmailAccount) -> None:
    start = account.state().history_id
    place = account.deliver(letter())
    account.archive(place.thread_id)
    removed = listing(users, start, historyTypes=["labelRemoved"])["history"]
    assert [record["labelsRemoved"][0]["labelIds"] for record in removed] == [["INBOX"]]
    assert len(listing(users, start, historyTypes=["labelRemoved", "messageAdded"])["history"]) == 2
    assert "history" not in listing(users, start, labelId="STARRED")


def test_a_label_on_a_conversation_is_one_event_per_message(users: GmailUsers, account: GmailAccount) -> None:
    first = account.deliver(letter())
    second = account.deliver(
        letter("Re: Lunch on Friday?", message_id="<2@example.org>", reply_to="<first@example.org>")
    )
    assert second.thread_id == first.thread_id
    label = users.labels().create(userId="me", body={"name": "Postroom/Done"}).execute()
    start = account.state().history_id
    account.label_thread(first.thread_id, add=("Postroom/Done",))
    events = [record["labelsAdded"][0] for record in listing(users, start)["history"]]
    assert [event["message"]["id"] for event in events] == [first.message_id, second.message_id]
    assert [event["labelIds"] for event in events] == [[label["id"]]] * 2


def test_own_label_writes_come_back_and_no_ops_do_not(users: GmailUsers, account: GmailAccount) -> None:
    place = account.deliver(letter())
    start = account.state().history_id
    for _ in range(2):
        users.messages().modify(userId="me", id=place.message_id, body={"addLabelIds": ["STARRED"]}).execute()
    assert len(listing(users, start)["history"]) == 1


def test_trash_is_a_label_and_deletion_is_for_good(users: GmailUsers, account: GmailAccount) -> None:
    place = account.deliver(letter())
    start = account.state().history_id
    assert users.messages().trash(userId="me", id=place.message_id).execute()["labelIds"] == ["TRASH", "UNREAD"]
    assert users.messages().untrash(userId="me", id=place.message_id).execute()["labelIds"] == ["UNREAD"]
    account.delete_message(place.message_id)
    kinds = [set(record) - {"id", "messages"} for record in listing(users, start)["history"]]
    assert kinds == [{"labelsAdded"}, {"labelsRemoved"}, {"labelsRemoved"}, {"messagesDeleted"}]


def test_a_fresh_message_is_seen_late(users: GmailUsers, account: GmailAccount) -> None:
    start = account.state().history_id
    place = account.deliver(letter(), hidden_gets=2, hidden_history=1)
    early = listing(users, start)
    assert "history" not in early
    assert int(early["historyId"]) < place.history_id
    assert len(listing(users, int(early["historyId"]))["history"]) == 1
    answers = []
    for _ in range(3):
        try:
            answers.append(users.messages().get(userId="me", id=place.message_id).execute()["id"])
        except HttpError as error:
            answers.append(error.status_code)
    assert answers == [404, 404, place.message_id]


def test_search_lags_while_the_thread_is_current(users: GmailUsers, account: GmailAccount) -> None:
    account.turn(search_lag=1)
    place = account.deliver(letter())
    sent_id = users.drafts().create(userId="me", body=draft_body(reply(), place.thread_id)).execute()
    sent = users.drafts().send(userId="me", body={"id": sent_id["id"]}).execute()
    assert "messages" not in users.messages().list(userId="me", q="in:sent").execute()
    thread = users.threads().get(userId="me", id=place.thread_id, format="minimal").execute()
    assert [message["id"] for message in thread["messages"]] == [place.message_id, sent["id"]]
    assert len(users.messages().list(userId="me", q="in:sent").execute()["messages"]) == 1


def test_a_message_may_carry_a_label_that_is_not_listed(users: GmailUsers, account: GmailAccount) -> None:
    place = account.deliver(letter())
    account.label_message(place.message_id, add=("Label_phantom",))
    shown = users.messages().get(userId="me", id=place.message_id, format="minimal").execute()
    listed = users.labels().list(userId="me").execute()["labels"]
    assert "Label_phantom" in shown["labelIds"]
    assert "Label_phantom" not in {label["id"] for label in listed}


@pytest.mark.parametrize("name", ["Postroom/Done", "postroom/done", "Postroom-Done", "inbox", "Snoozed"])
def test_a_label_that_exists_looks_alike_or_is_reserved_is_409(
    users: GmailUsers, account: GmailAccount, name: str
) -> None:
    made = users.labels().create(userId="me", body={"name": "Postroom/Done"}).execute()
    assert made["id"] in {label["id"] for label in account.state().labels}
    with pytest.raises(HttpError) as conflict:
        users.labels().create(userId="me", body={"name": name}).execute()
    assert conflict.value.status_code == 409
    assert conflict.value.reason == "Label name exists or conflicts"


def test_labels_are_renamed_recoloured_counted_and_deleted(users: GmailUsers, account: GmailAccount) -> None:
    made = users.labels().create(userId="me", body={"name": "Old"}).execute()
    place = account.deliver(letter())
    users.messages().batchModify(
        userId="me", body={"ids": [place.message_id, "f" * 16], "addLabelIds": [made["id"]]}
    ).execute()
    color = {"backgroundColor": "#16a766", "textColor": "#ffffff"}
    users.labels().update(userId="me", id=made["id"], body={"name": "New", "color": color}).execute()
    shown = users.labels().get(userId="me", id=made["id"]).execute()
    assert (shown["name"], shown["messagesTotal"], shown["color"]) == ("New", 1, color)
    with pytest.raises(HttpError) as refused:
        wish = {"name": "New", "color": {"backgroundColor": "#123456", "textColor": "#ffffff"}}
        users.labels().update(userId="me", id=made["id"], body=wish).execute()
    assert refused.value.status_code == 400
    users.labels().delete(userId="me", id=made["id"]).execute()
    assert account.state().labelled(made["id"]) == []
    with pytest.raises(HttpError) as fixed:
        users.labels().delete(userId="me", id="INBOX").execute()
    assert fixed.value.status_code == 400


def test_a_forgotten_page_stays_forgotten_and_the_same_search_gives_another_token(
    users: GmailUsers, account: GmailAccount
) -> None:
    for number in range(2):
        account.deliver(letter(f"number {number}", message_id=f"<{number}@example.org>"))
    query = {"userId": "me", "q": "subject:number", "maxResults": 1}
    token = users.messages().list(**query).execute()["nextPageToken"]
    account.turn(forgotten_pages=1)
    for _ in range(2):
        with pytest.raises(HttpError) as forgotten:
            users.messages().list(**query, pageToken=token).execute()
        assert forgotten.value.status_code == 400
    other = users.messages().list(**query).execute()["nextPageToken"]
    assert len(users.messages().list(**query, pageToken=other).execute()["messages"]) == 1


def test_messages_are_listed_newest_first_in_pages_and_by_query(
    control: GmailControl, users: GmailUsers, account: GmailAccount
) -> None:
    day = 86_400_000
    now = int(control.advance_clock(0) * 1000)
    places = [
        account.deliver(letter(f"day {age}", message_id=f"<{age}@example.org>"), internal_date=now - age * day)
        for age in (3, 1, 2)
    ]
    account.label_message(places[0].message_id, add=("SPAM",))
    query = {"userId": "me", "q": "subject:day after:2000/01/01", "maxResults": 1}
    first = users.messages().list(**query).execute()
    second = users.messages().list(**query, pageToken=first["nextPageToken"]).execute()
    assert [page["messages"][0]["id"] for page in (first, second)] == [places[1].message_id, places[2].message_id]
    assert "nextPageToken" not in second
    spam = users.messages().list(userId="me", q="in:spam from:ana").execute()["messages"]
    assert [each["id"] for each in spam] == [places[0].message_id]
    assert "messages" not in users.messages().list(userId="me", q="subject:day newer_than:1h").execute()
    with pytest.raises(HttpError) as unknown:
        users.messages().list(userId="me", q="{from:a from:b}").execute()
    assert unknown.value.status_code == 501
