"""Letters for the emulators' tests."""

import base64
from email.message import EmailMessage
from typing import Any


def letter(  # each header a test may want to choose
    subject: str = "Lunch on Friday?",
    *,
    sender: str = "Ana <ana@example.org>",
    to: str = "reader@example.com",
    text: str = "Would Friday suit you?\n",
    message_id: str | None = "<first@example.org>",
    reply_to: str | None = None,
    **headers: str,
) -> bytes:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = sender, to, subject
    if message_id:
        message["Message-ID"] = message_id
    if reply_to:
        message["In-Reply-To"] = message["References"] = reply_to
    for name, value in headers.items():
        message[name.replace("_", "-")] = value
    message.set_content(text)
    return message.as_bytes()


def reply(subject: str = "Re: Lunch on Friday?", reply_to: str | None = "<first@example.org>", **more: str) -> bytes:
    more.setdefault("text", "Friday is fine.\n")
    return letter(
        subject,
        sender="reader@example.com",
        to="ana@example.org",
        message_id="<mine@postroom.example.com>",
        reply_to=reply_to,
        **more,
    )


def encoded(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode()


def draft_body(raw: bytes, thread_id: str | None = None) -> dict[str, Any]:
    message = {"raw": encoded(raw)}
    return {"message": message | ({"threadId": thread_id} if thread_id else {})}
