"""Pushes as the emulated Pub/Sub signs and posts them, honest and forged."""

import json
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

from domain.jobs.failures import Forbidden, Invalid
from providers.google.certificates import CertificateStore
from providers.google.push import PushNotification, parse_push, verify_push
from sandbox.emulator.control import GmailAccount, GmailControl

AUDIENCE = "https://postroom.example.com/webhooks/gmail"
SENDER = "push@postroom-emulator.iam.gserviceaccount.com"
Posted = list[tuple[str | None, bytes]]


def push(control: GmailControl, account: GmailAccount, **options: object) -> tuple[str | None, bytes]:
    """Let the emulator push once to a listener; its authorization header and body."""
    posts: Posted = []

    class Listener(BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # the standard library's name
            posts.append((self.headers["Authorization"], self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_arguments: object) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Listener) as server:
        Thread(target=server.handle_request, daemon=True).start()
        control.configure_push(f"http://127.0.0.1:{server.server_port}/", AUDIENCE)
        assert control.push(account.email, **options) == [204]
    return posts[0]


def received(control: GmailControl, account: GmailAccount, **options: object) -> PushNotification:
    header, body = push(control, account, **options)
    verify_push(
        header,
        audience=AUDIENCE,
        service_account=SENDER,
        certs_url=f"{control.url}/certs",
        certificates=CertificateStore(timeout_s=5),
    )
    return parse_push(body)


@pytest.mark.parametrize("options", [{}, {"history_id_as_number": True}, {"url_safe_unpadded": True}])
def test_an_honest_push(control: GmailControl, account: GmailAccount, options: dict[str, bool]) -> None:
    notification = received(control, account, history_id=12345, **options)
    assert (notification.email, notification.history_id) == (account.email, 12345)
    assert notification.message_id


@pytest.mark.parametrize(
    "options",
    [
        {"audience": "https://other.example.com"},
        {"service_account": "other@project.example.com"},
        {"expired": True},
        {"unknown_kid": True},
    ],
)
def test_a_forged_push(control: GmailControl, account: GmailAccount, options: dict[str, object]) -> None:
    with pytest.raises(Forbidden):
        received(control, account, **options)


def test_a_poison_push(control: GmailControl, account: GmailAccount) -> None:
    with pytest.raises(Invalid) as caught:
        received(control, account, garbage=json.dumps("%%%"))
    assert caught.value.field == "message.data"
