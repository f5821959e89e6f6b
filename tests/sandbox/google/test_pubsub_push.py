"""Pub/Sub push against a real endpoint that verifies with google-auth."""

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Queue
from threading import Thread
from typing import Any

import pytest
import requests
from google.auth.exceptions import MalformedError
from google.auth.transport.requests import Request
from google.oauth2 import id_token
from googleapiclient.errors import HttpError

from sandbox.emulator.control import GmailAccount, GmailControl
from tests.sandbox.letters import letter
from tests.sandbox.sdk import GmailUsers

AUDIENCE = "https://postroom.example.com/webhooks/gmail"
PUSHER = "push@postroom.example.com"
TOPIC = {"topicName": "projects/postroom/topics/gmail"}


class Endpoint:
    """Receives pushes; answers with what stands in `answers`, then 204."""

    def __init__(self) -> None:
        self.received: Queue[tuple[str, dict[str, Any]]] = Queue()
        self.answers: Queue[int] = Queue()
        self.url = ""

    def next(self) -> tuple[str, dict[str, Any]]:
        return self.received.get(timeout=10)

    def next_history_id(self) -> int:
        data = self.next()[1]["message"]["data"]
        return int(json.loads(base64.b64decode(data))["historyId"])


@contextmanager
def run(endpoint: Endpoint) -> Iterator[None]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # http.server looks for this name
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            endpoint.received.put((self.headers["Authorization"].removeprefix("Bearer "), body))
            self.send_response(204 if endpoint.answers.empty() else endpoint.answers.get())
            self.end_headers()

        def log_message(self, *_arguments: object) -> None:
            """Quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        endpoint.url = f"http://127.0.0.1:{server.server_address[1]}/push"
        yield
        server.shutdown()
        thread.join()


@pytest.fixture
def endpoint(control: GmailControl) -> Iterator[Endpoint]:
    endpoint = Endpoint()
    with run(endpoint):
        control.configure_push(endpoint.url, AUDIENCE, service_account=PUSHER, retry_initial_s=0.01)
        yield endpoint
        control.configure_push("", AUDIENCE)


def verified(control: GmailControl, token: str) -> dict[str, Any]:
    with requests.Session() as session:
        certs_url = f"{control.url}/certs"
        return dict(id_token.verify_token(token, Request(session=session), audience=AUDIENCE, certs_url=certs_url))


def test_a_watch_pushes_at_once_and_at_each_change(
    control: GmailControl, users: GmailUsers, account: GmailAccount, endpoint: Endpoint
) -> None:
    answer = users.watch(userId="me", body=TOPIC).execute()
    assert int(answer["expiration"]) / 1000 - control.advance_clock(0) == pytest.approx(7 * 86_400, abs=60)
    token, envelope = endpoint.next()
    claims = verified(control, token)
    assert (claims["iss"], claims["email"], claims["email_verified"]) == ("https://accounts.google.com", PUSHER, True)
    data = json.loads(base64.b64decode(envelope["message"]["data"]))
    assert data == {"emailAddress": account.email, "historyId": answer["historyId"]}
    assert envelope["subscription"].startswith("projects/")
    place = account.deliver(letter())
    assert endpoint.next_history_id() == place.history_id
    users.stop(userId="me").execute()
    account.deliver(letter(message_id="<2@example.org>"))
    assert control.push_state()["pending"] == 0
    assert endpoint.received.empty()


def test_another_topic_and_a_bad_one_are_refused(users: GmailUsers, endpoint: Endpoint) -> None:
    users.watch(userId="me", body=TOPIC).execute()
    users.watch(userId="me", body=TOPIC).execute()
    assert endpoint.next()
    for topic in ("projects/postroom/topics/other", "gmail"):
        with pytest.raises(HttpError) as refused:
            users.watch(userId="me", body={"topicName": topic}).execute()
        assert refused.value.status_code == 400
    users.stop(userId="me").execute()
    users.watch(userId="me", body={"topicName": "projects/postroom/topics/other"}).execute()


def test_a_filtered_watch_is_deaf_to_other_labels_and_a_lapsed_one_to_all(
    control: GmailControl, users: GmailUsers, account: GmailAccount, endpoint: Endpoint
) -> None:
    place = account.deliver(letter(), label_ids=["STARRED"])
    users.watch(userId="me", body=TOPIC | {"labelIds": ["INBOX"], "labelFilterBehavior": "include"}).execute()
    endpoint.next()
    account.label_message(place.message_id, add=("IMPORTANT",))
    inbox = account.deliver(letter(message_id="<2@example.org>"))
    assert endpoint.next_history_id() == inbox.history_id
    control.advance_clock(7 * 86_400 + 1)
    account.deliver(letter(message_id="<3@example.org>"))
    users.watch(userId="me", body=TOPIC).execute()
    assert endpoint.next_history_id() == account.state().history_id
    assert endpoint.received.empty()


@pytest.mark.usefixtures("endpoint")
def test_a_watch_whose_week_is_over_tells_nobody_and_says_up_to_where_it_told(
    control: GmailControl, users: GmailUsers, account: GmailAccount
) -> None:
    users.watch(userId="me", body=TOPIC).execute()
    told = account.deliver(letter())
    lapsed_at = account.lapse_watch()
    later = account.deliver(letter(message_id="<2@example.org>"))
    assert told.history_id <= lapsed_at < later.history_id
    first, second = control.wait_for("push.deliver", 2)
    assert first.summary["history_id"] < second.summary["history_id"] == told.history_id
    users.watch(userId="me", body=TOPIC).execute()
    assert control.wait_for("push.deliver", 3)[2].summary["history_id"] == account.state().history_id


def test_what_is_not_acknowledged_comes_again_with_the_same_id(
    control: GmailControl, users: GmailUsers, endpoint: Endpoint
) -> None:
    for status in (500, 403):
        endpoint.answers.put(status)
    users.watch(userId="me", body=TOPIC).execute()
    ids = {endpoint.next()[1]["message"]["messageId"] for _ in range(3)}
    assert len(ids) == 1
    attempts = control.wait_for("push.deliver", 3)
    assert [(entry.status, entry.summary["attempt"]) for entry in attempts] == [(500, 1), (403, 2), (204, 3)]
    assert control.push_state()["pending"] == 0


def test_pushes_get_lost_by_chance_and_above_one_a_second(
    control: GmailControl, users: GmailUsers, account: GmailAccount, endpoint: Endpoint
) -> None:
    control.configure_push(endpoint.url, AUDIENCE, min_interval_s=3_600.0)
    users.watch(userId="me", body=TOPIC).execute()
    endpoint.next()
    first = account.deliver(letter())
    account.deliver(letter(message_id="<2@example.org>"))
    assert endpoint.next_history_id() == first.history_id
    control.configure_push(endpoint.url, AUDIENCE, loss=1.0)
    account.deliver(letter(message_id="<3@example.org>"))
    lost = [entry for entry in control.journal("push.deliver") if entry.summary["outcome"] == "lost"]
    assert len(lost) == 2
    assert endpoint.received.empty()


@pytest.mark.parametrize(
    "order", [{"audience": "https://elsewhere.example.com"}, {"expired": True}, {"unknown_kid": True}]
)
def test_tokens_that_must_be_refused(
    control: GmailControl, account: GmailAccount, endpoint: Endpoint, order: dict[str, Any]
) -> None:
    assert control.push(account.email, **order) == [204]
    with pytest.raises((ValueError, MalformedError)):
        verified(control, endpoint.next()[0])


def test_a_wrong_service_account_is_only_seen_in_the_claims(
    control: GmailControl, account: GmailAccount, endpoint: Endpoint
) -> None:
    control.push(account.email, service_account="someone@example.org")
    assert verified(control, endpoint.next()[0])["email"] == "someone@example.org"


def test_pushes_by_hand_are_doubled_old_oddly_encoded_or_garbage(
    control: GmailControl, account: GmailAccount, endpoint: Endpoint
) -> None:
    assert control.push(account.email, copies=2, history_id=7) == [204, 204]
    pair = [endpoint.next()[1]["message"] for _ in range(2)]
    assert pair[0] == pair[1]
    assert json.loads(base64.b64decode(pair[0]["data"]))["historyId"] == "7"
    control.push("odd??>@example.com", history_id_as_number=True, url_safe_unpadded=True)
    text = endpoint.next()[1]["message"]["data"]
    assert not set(text) & set("+/=")
    assert json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))["historyId"] == 1
    control.push(account.email, garbage="***")
    assert endpoint.next()[1]["message"]["data"] == "***"
