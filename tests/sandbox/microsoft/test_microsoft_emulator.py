"""The Microsoft emulator refuses what Graph refuses, so that a client that passes on it proves something."""

import base64
from collections.abc import Iterator
from email import message_from_bytes, policy
from typing import Any

import httpx2
import pytest

from sandbox.emulator.client import ControlRefused
from sandbox.microsoft.control import MicrosoftControl
from sandbox.microsoft.microsoft import microsoft_emulator

MAILBOX = "desk@example.com"
TO = [{"emailAddress": {"address": "ada@example.org", "name": "Ada"}}]
GOOD = {"subject": "Hello", "body": {"contentType": "text", "content": "there"}, "toRecipients": TO}
PROPERTY = "String {3a1d9c52-7b0e-4a7c-9a53-6f2c8f0f4b11} Name Reference"
FORM = {
    "grant_type": "client_credentials", "client_id": "client-1", "client_secret": "a secret",
    "scope": "https://graph.microsoft.com/.default",
}  # fmt: skip


@pytest.fixture
def control() -> Iterator[MicrosoftControl]:
    with microsoft_emulator() as emulator:
        yield MicrosoftControl(emulator.url)


@pytest.fixture
def graph(control: MicrosoftControl) -> Iterator[httpx2.Client]:
    answer = httpx2.post(f"{control.url}/tenant-1/oauth2/v2.0/token", data=FORM)
    headers = {"Authorization": f"Bearer {answer.json()['access_token']}"}
    with httpx2.Client(base_url=f"{control.url}/v1.0/users/{MAILBOX}", headers=headers) as client:
        yield client


def code_of(answer: httpx2.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


def made(graph: httpx2.Client, **change: object) -> Any:  # noqa: ANN401 - any JSON
    return graph.post("/messages", json=GOOD | change).json()


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"tone": 1}, (400, "RequestBodyRead")),
        ({"body": {"contentType": "rtf", "content": ""}}, (400, "BadRequest")),
        ({"toRecipients": [{"address": "ada@example.org"}]}, (400, "ErrorInvalidRecipients")),
        ({"toRecipients": [{"emailAddress": {"address": "ada"}}]}, (400, "ErrorInvalidRecipients")),
        (
            {"internetMessageHeaders": [{"name": "List-Unsubscribe", "value": "<https://x/>"}]},
            (400, "InvalidInternetMessageHeader"),
        ),
        (
            {"internetMessageHeaders": [{"name": "X-A", "value": "1"}] * 6},
            (400, "InvalidInternetMessageHeaderCollection"),
        ),
        ({"singleValueExtendedProperties": [{"id": "Reference", "value": "1"}]}, (400, "ErrorInvalidPropertyId")),
        ({"attachments": [{"name": "a", "contentBytes": ""}]}, (400, "BadRequest")),
        ({"subject": "x" * 4_200_000}, (413, "RequestEntityTooLarge")),
    ],
)
def test_what_is_no_draft_is_refused(
    control: MicrosoftControl, graph: httpx2.Client, change: dict[str, object], code: tuple[int, str]
) -> None:
    assert code_of(graph.post("/messages", json=GOOD | change)) == code
    assert control.messages(MAILBOX) == []


def test_mime_comes_as_base64_that_calls_itself_text(control: MicrosoftControl, graph: httpx2.Client) -> None:
    raw = b"From: desk@example.com\r\nTo: ada@example.org\r\nMessage-ID: <a@b>\r\nSubject: Hi\r\n\r\nthere"
    plain = {"Content-Type": "text/plain"}
    draft = graph.post("/messages", content=base64.b64encode(raw), headers=plain).json()
    assert (draft["internetMessageId"], draft["isDraft"]) == ("<a@b>", True)
    assert code_of(graph.post("/messages", content=b"?", headers=plain))[1] == "ErrorMimeContentInvalidBase64String"
    assert code_of(graph.post("/messages", content=raw, headers={"Content-Type": "message/rfc822"}))[0] == 415
    read = message_from_bytes(control.raw(MAILBOX, draft["id"]), policy=policy.default)
    assert (read["subject"], read.get_content().strip()) == ("Hi", "there")


def test_a_filter_is_one_of_two(graph: httpx2.Client) -> None:
    draft = made(graph, singleValueExtendedProperties=[{"id": PROPERTY, "value": "O'Brien"}])
    by_property = f"singleValueExtendedProperties/any(ep: ep/id eq '{PROPERTY}' and ep/value eq 'o''brien')"
    for wanted in (by_property, f"internetMessageId eq '{draft['internetMessageId']}'"):
        found = graph.get("/messages", params={"$filter": wanted, "$select": "isDraft"}).json()["value"]
        assert found == [{"id": draft["id"], "isDraft": True}]
        assert graph.get("/mailFolders/SentItems/messages", params={"$filter": wanted}).json()["value"] == []
    assert code_of(graph.get("/messages", params={"$filter": "subject eq 'Hello'"})) == (
        400, "ErrorInvalidUrlQueryFilter",
    )  # fmt: skip


def test_a_mail_that_was_sent_is_nowhere_for_a_while_and_then_under_another_id(
    control: MicrosoftControl, graph: httpx2.Client
) -> None:
    control.turn(MAILBOX, sent_after_s=60)
    draft = made(graph)
    assert graph.post(f"/messages/{draft['id']}/send").status_code == 202
    assert code_of(graph.get(f"/messages/{draft['id']}")) == (404, "ErrorItemNotFound")
    assert graph.get("/messages").json()["value"] == []
    control.advance_clock(61)
    (sent,) = graph.get("/mailFolders/SentItems/messages").json()["value"]
    assert (sent["isDraft"], sent["internetMessageId"]) == (False, draft["internetMessageId"])
    assert (sent["id"][:-5], sent["id"] == draft["id"]) == (draft["id"][:-5], False)
    assert code_of(graph.post(f"/messages/{sent['id']}/send")) == (400, "ErrorInvalidOperation")


def test_a_draft_to_nobody_is_not_sent(graph: httpx2.Client) -> None:
    draft = made(graph, toRecipients=[])
    assert code_of(graph.post(f"/messages/{draft['id']}/send")) == (400, "ErrorInvalidRecipients")


def test_a_listed_file_is_larger_than_it_was(graph: httpx2.Client) -> None:
    draft = made(graph)
    kind = "#microsoft.graph.fileAttachment"
    graph.post(f"/messages/{draft['id']}/attachments", json={"@odata.type": kind, "name": "a", "contentBytes": "YWJj"})
    (listed,) = graph.get(f"/messages/{draft['id']}/attachments").json()["value"]
    assert (listed["name"], listed["size"]) == ("a", 3 + 237)


def test_an_upload_comes_in_order_to_its_own_address(control: MicrosoftControl, graph: httpx2.Client) -> None:
    path = f"/messages/{made(graph)['id']}/attachments/createUploadSession"
    item = {"attachmentType": "file", "name": "a.bin", "size": 3_000_000}
    small = graph.post(path, json={"AttachmentItem": item | {"size": 2_000_000}})
    assert code_of(small) == (400, "ErrorAttachmentSizeShouldNotBeLessThanMinimumSize")
    url = graph.post(path, json={"AttachmentItem": item}).json()["uploadUrl"]

    def put(start: int, size: int, **headers: str) -> httpx2.Response:
        sent = {"Content-Range": f"bytes {start}-{start + size - 1}/3000000", **headers}
        return httpx2.put(url, content=b"x" * size, headers=sent)

    assert code_of(put(5, 10)) == (416, "InvalidRange")
    assert code_of(put(0, 10, Authorization="Bearer x")) == (401, "InvalidAudience")
    assert put(0, 2_000_000).json() == {"NextExpectedRanges": ["2000000"]}
    assert httpx2.get(url).json() == {"nextExpectedRanges": ["2000000-"]}
    assert code_of(httpx2.get(url.replace("authtoken=", "authtoken=x"))) == (401, "unauthenticated")
    assert put(2_000_000, 1_000_000).status_code == 201
    assert code_of(httpx2.get(url)) == (404, "itemNotFound")
    assert control.drafts(MAILBOX)[0]["mail"]["attachments"][0]["size"] == 3_000_000


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"grant_type": "password"}, "unsupported_grant_type"),
        ({"scope": "Mail.Send"}, "invalid_scope"),
        ({"client_secret": ""}, "invalid_client"),
    ],
)
def test_no_token_for_anything_else(control: MicrosoftControl, change: dict[str, str], error: str) -> None:
    answer = httpx2.post(f"{control.url}/tenant-1/oauth2/v2.0/token", data=FORM | change)
    assert answer.json()["error"] == error


def test_without_a_token_there_is_no_mailbox(control: MicrosoftControl) -> None:
    for headers in ({}, {"Authorization": "Bearer made up"}):
        answer = httpx2.get(f"{control.url}/v1.0/users/{MAILBOX}/messages", headers=headers)
        assert code_of(answer) == (401, "InvalidAuthenticationToken")
    with pytest.raises(ControlRefused):
        control.turn(MAILBOX, tone=1)
